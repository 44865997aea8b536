/**
 * Names without the parts that differ between two executions of one program, so that recordings can be compared.
 *
 * @module
 */

/** The name of all code that JIT compilers made, whose objects are named by process. */
const JIT = "[JIT]";

/** Objects of JIT compilers: `perf-PID.map` as shown and as a file, `jit-PID.dump`, `jitted-PID-N.so`. */
const JIT_OBJECTS: readonly RegExp[] = [
  /^\[JIT\] tid \d+$/,
  /^\[?perf-\d+\.map\]?$/,
  /^\[?jit-\d+\.dump\]?$/,
  /^\[?jitted-\d+-\d+\.so\]?$/,
];

/**
 * The name of an object (its short name or path) without ids of one execution: process, thread, number.
 *
 * @example
 * ```ts
 * import { runObject } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(runObject("[JIT] tid 21870"), "[JIT]");
 * assertEquals(runObject("/tmp/jitted-21870-14.so"), "[JIT]");
 * assertEquals(runObject("[stack:712]"), "[stack]");
 * assertEquals(runObject("libc.so.6"), "libc.so.6");
 * ```
 */
export function runObject(name: string): string {
  const last = name.slice(name.lastIndexOf("/") + 1);
  if (JIT_OBJECTS.some((object) => object.test(last))) return JIT;
  return /^\[stack:\d+\]$/.test(name) ? "[stack]" : name;
}

/** Parts of function names that differ between executions, and their replacements. */
const RUN_PARTS: readonly (readonly [RegExp, string])[] = [
  // Hidden classes of Java have an address (before JDK 15, a hash), and lambdas a number.
  [/\/0x[0-9a-f]{8,}/g, ""],
  [/(Lambda\$|LambdaForm\$[A-Z]+)\d+/g, "$1"],
  [/(Lambda(?:Form)?\$[A-Z]*)\/\d+/g, "$1"],
  [/\$\$Lambda\$/g, "$$$$Lambda"],
  // Classes that Java, Spring and Byte Buddy generate for reflection, with numbers or random names.
  [/(Generated(?:Method|Constructor|SerializationConstructor)Accessor)\d+/g, "$1"],
  [/(\$Proxy|jdk\.proxy)\d+/g, "$1"],
  [/(CGLIB\$\$)[0-9a-f]+/g, "$1"],
  [/(\$ByteBuddy\$)\w{8}/g, "$1"],
  // .NET's compiled expressions.
  [/(lambda_method)\d+/g, "$1"],
  // Code whose only name is its address.
  [/(@| at )0x[0-9a-f]+/g, "$10x…"],
];

/** A test that all names with {@linkcode RUN_PARTS} pass, and most other names do not. */
const MARKS = /[$/@]|Accessor|proxy|lambda_method| at 0x/;

/**
 * The name of a function without the addresses and numbers that differ between executions.
 *
 * @example
 * ```ts
 * import { runFunction } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(runFunction("int Walk$$Lambda$14/0x000079e6c4003000.run()"), "int Walk$$Lambda.run()");
 * assertEquals(runFunction("int Walk$$Lambda/0x000079e6c4003000.run()"), "int Walk$$Lambda.run()");
 * assertEquals(runFunction("int Walk.lambda$main$0()"), "int Walk.lambda$main$0()");
 * ```
 */
export function runFunction(name: string): string {
  // Code without a name has the name of its object.
  if (name.startsWith("[")) return runObject(name);
  if (!MARKS.test(name)) return name;
  let plain = name;
  for (const [part, kept] of RUN_PARTS) plain = plain.replace(part, kept);
  return plain;
}
