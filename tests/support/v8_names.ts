/** V8 code has one name in the program, and another one in a map or a jitdump of it. */

/** The common form of both names. */
export function withoutOrigin(name: string): string {
  return name.replace(/^(Builtins_|Builtin:|BytecodeHandler:)/, "V8 ").replace(/Handler$/, "")
    .replace("construct_stub_create_deopt_addr", "V8 JSConstructStubGeneric");
}
