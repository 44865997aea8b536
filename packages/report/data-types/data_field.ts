import type { DataType } from "@perfdata/symbols/dwarf";

/** Limit of nested structures: in a damaged file, a structure may contain itself. */
export const DEEPEST_FIELD = 32;

/**
 * Path of the field at an offset: `stats.hits`, `in[].x`; `""` if there is none.
 *
 * @example
 * ```ts
 * import { fieldAt } from "@perfdata/report";
 * import { assertEquals } from "@std/assert";
 *
 * const int = { kind: "scalar", name: "int", size: 4, fields: [], target: undefined, meant: {} } as const;
 * const fields = [{ name: "x", offset: 0, size: 4, type: int }];
 * const type = { kind: "structure", name: "struct p", size: 4, fields, target: undefined, meant: {} };
 * assertEquals(fieldAt({ ...type, kind: "structure" }, 0), "x");
 * ```
 */
export function fieldAt(type: DataType, offset: number): string {
  return namedField(type, offset)?.name ?? "";
}

/**
 * A field, with whether it begins at the offset. In a union, the member that begins there is
 * preferred.
 */
function namedField(
  type: DataType,
  offset: number,
  depth = 0,
): { readonly name: string; readonly begins: boolean } | undefined {
  if (depth > DEEPEST_FIELD) return undefined;
  if (type.kind === "array") {
    const { target } = type;
    if (target === undefined || target.size === 0) return undefined;
    const inner = namedField(target, offset % target.size, depth + 1);
    return inner &&
      { ...inner, name: inner.name.startsWith("[") ? inner.name : `[].${inner.name}` };
  }
  let first: { name: string; begins: boolean } | undefined;
  for (const field of type.fields) {
    if (offset < field.offset || offset >= field.offset + field.size) continue;
    const inner = field.type && namedField(field.type, offset - field.offset, depth + 1);
    let found: { name: string; begins: boolean };
    if (inner === undefined) {
      if (field.name === "") continue;
      // All elements of an array have the path of the first.
      found = {
        name: field.name,
        begins: field.offset === offset || field.type?.kind === "array",
      };
    } else {
      const dot = field.name === "" || inner.name.startsWith("[") ? "" : ".";
      found = { name: field.name + dot + inner.name, begins: inner.begins };
    }
    if (found.begins) return found;
    first ??= found;
  }
  return first;
}
