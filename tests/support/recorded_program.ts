/** Programs that a test compiles and records, and perf's periods of their functions. */
import { assert } from "@std/assert";
import { notInstalled } from "./ignored.ts";
import { perfRecords, perfText } from "./perf.ts";

/** The reason for which no program can be compiled and recorded; `undefined` if one can. */
export function noRecording(): string | undefined {
  return notInstalled("gcc") ?? (perfRecords() ? undefined : "perf cannot record here");
}

/** A program whose functions `left` and `right` call `leaf`; `more` is inlined in `left`. */
export const LEFT_AND_RIGHT = `
volatile unsigned long sum;
__attribute__((noinline)) void leaf(unsigned n) { for (unsigned i = 0; i < n; i++) sum += i * i; }
static inline __attribute__((always_inline)) void more(void) { for (int i = 0; i < 300; i++) sum += i; }
__attribute__((noinline)) void left(void) { leaf(2000); more(); sum++; }
__attribute__((noinline)) void right(void) { leaf(1000); sum++; }
int main(void) { for (int i = 0; i < 60000; i++) { left(); right(); } return 0; }
`;

/**
 * A start for a program without libraries: no sample hits the dynamic linker or a PLT stub, which
 * perf 6.1 names differently. Compile it with {@linkcode WITHOUT_LIBRARIES}.
 */
export const OWN_START = Deno.build.arch === "aarch64"
  ? `__asm__(".globl _start\\n_start:\\n.cfi_startproc\\n.cfi_undefined x30\\nmov x29, #0\\nmov x30, #0\\n"
  "bl main\\nmov x8, #93\\nsvc #0\\n.cfi_endproc");\n`
  : `__asm__(".globl _start\\n_start:\\n.cfi_startproc\\n.cfi_undefined rip\\nxor %ebp, %ebp\\n"
  "call main\\nmov %eax, %edi\\nmov $60, %eax\\nsyscall\\n.cfi_endproc");\n`;

/** Flags of gcc for a program that begins with {@linkcode OWN_START}. */
export const WITHOUT_LIBRARIES: readonly string[] = [
  ...["-static", "-nostdlib", "-fno-stack-protector", "-Wl,--eh-frame-hdr,--build-id"],
];

/**
 * Runs a program in a folder to its end and returns its output.
 *
 * @throws {Error} If the program fails.
 */
export function runIn(folder: string, program: string, ...args: string[]): string {
  const result = new Deno.Command(program, { args, cwd: folder }).outputSync();
  assert(result.success, new TextDecoder().decode(result.stderr));
  return new TextDecoder().decode(result.stdout);
}

/** Compiles a program to `a` in a folder. */
export async function compileProgram(folder: string, source: string): Promise<void> {
  await Deno.writeTextFile(`${folder}/a.c`, source);
  const flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-Wl,--build-id"];
  runIn(folder, "gcc", ...flags, "-o", "a", "a.c");
}

/**
 * Compiles a program to `a` in a folder, and records it to `data`.
 *
 * @param events Flags of perf record.
 * @returns The path of the recording.
 */
export async function recordProgram(
  folder: string,
  source: string,
  events: readonly string[],
): Promise<string> {
  await compileProgram(folder, source);
  const record = ["--buildid-dir", `${folder}/.debug`, "record", "-q", "-g"];
  runIn(folder, "perf", ...record, ...events, "-o", "data", "./a");
  return `${folder}/data`;
}

/** Periods of functions with C names, as perf report sums them. */
export async function reportedPeriods(data: string): Promise<Map<string, bigint>> {
  const report = ["report", "--stdio", "--no-children", "-g", "none", "-s", "sym", "-t", "|"];
  const result = await perfText([...report, "-F", "period,sym"], data);
  const periods = new Map<string, bigint>();
  for (const line of result?.stdout.split("\n") ?? []) {
    const match = /^\s*(\d+)\s*\|\[[.k]\] ([A-Za-z_]\S*)/.exec(line);
    if (match !== null) periods.set(match[2] as string, BigInt(match[1] as string));
  }
  return periods;
}
