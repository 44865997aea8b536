/** Finds the buffers of all columns in a value, to transfer them to another thread without copying. */
export function buffersOf(
  value: unknown,
  found: Set<ArrayBuffer> = new Set(),
): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  } else if (typeof value === "object" && value !== null && !(value instanceof Map)) {
    for (const member of Object.values(value)) {
      if (typeof member === "object") buffersOf(member, found);
    }
  }
  return found;
}
