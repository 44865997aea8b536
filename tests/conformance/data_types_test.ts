/** Data types that instructions access, compared with comments in the source. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type DataAccess, DataTypes, fieldAt } from "@perfdata/report";
import { openResolver } from "@perfdata/symbols/files";
import { dataDecoder } from "../../tools/shared/data_decoder.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { newerPerfText, noNewerPerf } from "../support/perf.ts";
import { mappedRecording } from "../support/mapped_recording.ts";
import { inFolder, tool } from "../support/tool.ts";

/** After `//:`, each line lists its accesses to structures and globals. */
const C_PROGRAM = `void *calloc(__SIZE_TYPE__, __SIZE_TYPE__);
struct inner { int x; int y; };
typedef struct node {
  long key;
  struct node *next;
  struct inner in[3];
  double weight;
  unsigned flag : 3, rest : 13;
  union { long whole; struct inner halves; };
} node_t;
struct table {
  unsigned long count;
  node_t **buckets;
  char name[16];
  struct { long hits; long misses; } stats;
  node_t last;
};
struct state { long a; long b[8]; struct inner last; };
struct state state;
static struct inner all[64];
static volatile int plain;
typedef struct table *table_p;
#define OWN __attribute__((noinline))

OWN long walk(const node_t *n) {
  long sum = 0;
  while (n) {
    sum += n->key;                              //: node_t.key
    sum += n->in[1].y;                          //: node_t.in[].y
    n = n->next;                                //: node_t.next
  }
  return sum;
}
OWN long deeper(table_p t, int i) {
  long sum = t->buckets[i]                      //: struct table.buckets node_t*. node_t.next node_t.key
      ->next                                    //: node_t.next
      ->next                                    //: node_t.next
      ->key;                                    //: node_t.key
  sum += t->last.in[2].x;                       //: struct table.last.in[].x node_t.key
  t->name[i & 15] = (char) sum;                 //: struct table.name
  t->stats.misses = sum;                        //: struct table.stats.misses
  return sum;
}
static inline node_t *found(struct table *t, unsigned long key) {
  node_t *n = t->buckets[key & 31];             //: struct table.buckets node_t*.
  while (n && n->weight < 3.5)                  //: node_t.weight
    n = n->next;                                //: node_t.next
  return n;
}
OWN void look(struct table *t, unsigned long key) {
  node_t *n = found(t, key);
  if (n) n->halves.y = 7;                       //: node_t.halves.y
  else t->count = key;                          //: struct table.count
}
OWN node_t *made(struct table *t) {
  return &t->last;
}
OWN long returned(struct table *t) {
  return made(t)->key;                          //: node_t.key
}
OWN void globals(int i) {
  state.a += i;                                 //: struct state.a
  state.b[i & 7] = 3;                           //: struct state.b
  state.last.y = i;                             //: struct state.last.y
  all[i & 63].y = i;                            //: struct inner.y
  plain++;                                      //: int.
}
OWN long frame(int n) {
  struct inner own[16];
  for (int i = 0; i < 16; i++) {
    own[i].x = i * n;                           //: struct inner.x struct inner.y
    own[i].y = n;                               //: struct inner.y struct inner.x
  }
  __asm__ volatile("" : : "r"(own) : "memory");
  long sum = 0;
  for (int i = 0; i < n; i++)
    sum += own[i & 15].x;                       //: struct inner.x
  return sum;
}
OWN void elements(struct inner *from, long *sums, int n) {
  for (int i = 0; i < n; i++)
    sums[i] += from[i].y;                       //: struct inner.y struct inner.x long.
}
int main(int argc, char **argv) {
  struct table t = { .count = 32 };
  t.buckets = calloc(32, sizeof(node_t *));
  node_t *first = calloc(2, sizeof *first);
  first->next = first + 1;
  first[1].next = first;
  t.buckets[1] = first;
  long s = argc > 5 ? deeper(&t, 1) : 0;
  look(&t, 0);
  globals(argc);
  elements(all, state.b, 8);
  return (int) (s + walk(0) + frame(9) + returned(&t));
}
`;

const CPP_PROGRAM = `namespace shop {
struct Item { long id; int price; };
class Base {
public:
  virtual ~Base() {}
  long total = 0;
};
class Order : public Base {
public:
  Item items[4];
  static long count;
  __attribute__((noinline)) long sum(const Item &extra);
};
long Order::count;
long Order::sum(const Item &extra) {
  total += extra.price;                         //: shop::Order.total struct~shop::Item.price
  total += items[2].id;                         //: shop::Order.total shop::Order.items[].id
  count++;                                      //: long.
  return total;                                 //: shop::Order.total
}
}
int main() {
  shop::Order order;
  shop::Item item = { 1, 2 };
  return (int) order.sum(item);
}
`;

const noObjdump = notInstalled("objdump", "nm");

interface Build {
  readonly compiler: string;
  readonly flags: readonly string[];
  /** Programs of LLVM, for code of AArch64. */
  readonly isArm?: boolean;
}

function output(command: string, ...args: string[]): string {
  const { success, stdout, stderr } = new Deno.Command(command, { args }).outputSync();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** The instructions of a program's own functions in objdump: address in the file and text. */
function insnsOf(
  path: string,
  objdump = "objdump",
): { readonly address: number; readonly text: string }[] {
  const listed = output(objdump, "-d", "--no-show-raw-insn", "-j", ".text", path);
  return [...listed.matchAll(/^ +([0-9a-f]+):\s+(.*)$/gm)].map(([, address = "", text = ""]) => ({
    address: parseInt(address, 16),
    text,
  }));
}

/** The accesses of each instruction, with the list at the end of its source line. */
async function compareLines(
  source: string,
  file: string,
  { compiler, flags, isArm = false }: Build,
  folder: string,
): Promise<{ compared: number; met: Set<string>; known: number; accesses: number }> {
  const code = `${folder}/${file}`, path = `${folder}/program`;
  await Deno.writeTextFile(code, source);
  // The text has the same offset in the file as in memory.
  output(compiler, ...flags, "-g", "-fno-asynchronous-unwind-tables", "-o", path, code);
  const insns = insnsOf(path, isArm ? "llvm-objdump" : "objdump");
  const lines = output(
    isArm ? "llvm-addr2line" : "addr2line",
    ...["-e", path, ...insns.map(({ address }) => `0x${address.toString(16)}`)],
  ).trimEnd().split("\n");
  const decoder = await dataDecoder(isArm ? "aarch64" : "x86_64");
  assert(decoder !== undefined);
  const bytes = await Deno.readFile(path);
  const [, offset = "", address = ""] =
    /LOAD +(0x\w+) +(0x\w+) +0x\w+ +0x\w+ +0x\w+ +R E/.exec(output("readelf", "-lW", path)) ??
      [];
  const base = Number(address) - Number(offset);
  const types = new DataTypes(openResolver(), {
    read: (_, start, size) =>
      start + size <= bytes.length
        ? { bytes: bytes.slice(start, start + size) }
        : { missing: "not there" },
  }, decoder);
  const found = await types.find(
    { path, kind: "elf" },
    insns.map(({ address }) => address - base),
  );
  const wanted = source.split("\n").map((line) => /\/\/: (.*)/.exec(line)?.[1]?.split(" "));
  const met = new Set<string>();
  let compared = 0, known = 0, accesses = 0;
  for (const [i, access] of found.entries()) {
    const [, name = "", number = ""] = /([^/]*):(\d+)/.exec(lines[i] ?? "") ?? [];
    if (name !== file) continue;
    const text = insns[i]?.text ?? "";
    const touches = isArm
      ? /\[(?!sp|x29)/.test(text)
      : /[(]%|[(],|%[fg]s:/.test(text) && !/\b(lea|nop|data16)/.test(text);
    if (touches && !/^(push|pop|ret|leave|call)/.test(text)) {
      accesses++;
      if ("type" in access) known++;
    }
    const list = wanted[Number(number) - 1];
    const what = textOf(access);
    if (list === undefined || what === undefined) continue;
    const joined = list.join(" ").split(/ (?=struct|node_t|int|long|shop)/)
      .flatMap((part) => part.startsWith("struct ") ? [part] : part.split(" "))
      .map((part) => part.replace("~", " "));
    // A variable in memory, in the frame or global; most lines do not list these.
    if (!what.includes(".") || (what.endsWith(".") && !joined.includes(what))) continue;
    assert(joined.includes(what), `${flags.join(" ")} ${lines[i]}: ${text}: ${what}`);
    met.add(`${number} ${what}`);
    compared++;
  }
  return { compared, met, known, accesses };
}

function textOf(access: DataAccess): string | undefined {
  if ("cause" in access) return undefined;
  const { type, offset } = access;
  const name = type.name.replace(/^long int$/, "long").replace(/^struct node$/, "node_t")
    .replace(/^struct node\*$/, "node_t*");
  return `${name}.${fieldAt(type, offset)}`;
}

/** Flags of clang for AArch64 without a C library. */
const ARM = [
  ...["--target=aarch64-linux-gnu", "-ffreestanding", "-nostdlib", "-static", "-fuse-ld=lld"],
  ...["-Wl,--unresolved-symbols=ignore-all", "-Wl,-e,main"],
];

const BUILDS = (compilers: readonly string[]): Build[] =>
  compilers.flatMap((compiler) =>
    ["-O2", "-O1", "-O0"].flatMap((level) =>
      ["-gdwarf-4", "-gdwarf-5"].map((dwarf) => ({ compiler, flags: [level, dwarf] }))
    )
  );

for (
  const [name, source, file, compilers, least] of [
    ["C", C_PROGRAM, "program.c", ["gcc", "clang"], 25],
    ["C++", CPP_PROGRAM, "program.cc", ["g++", "clang++"], 4],
    ["C for AArch64", C_PROGRAM, "program.c", ["clang"], 25],
    ["C++ for AArch64", CPP_PROGRAM, "program.cc", ["clang++"], 4],
  ] as const
) {
  const isArm = name.endsWith("AArch64");
  const tools = isArm ? ["ld.lld", "llvm-objdump", "llvm-addr2line"] : ["objdump", "addr2line"];
  const missing = [...compilers, ...tools].map((one) => notInstalled(one))
    .find((why) => why !== undefined);
  Deno.test({
    name: `types of data: accesses of instructions in ${name} are listed in their lines`,
    ...ignored(missing),
    async fn() {
      const met = new Set<string>();
      await inFolder(async (folder) => {
        for (const { compiler, flags } of BUILDS(compilers)) {
          const build = { compiler, flags: isArm ? [...flags, ...ARM] : flags, isArm };
          const found = await compareLines(source, file, build, folder);
          assert(found.compared >= least, `${build.compiler} ${build.flags}: ${found.compared}`);
          // Without optimization, the compiler's own values in frames have no name.
          const share = found.known / found.accesses;
          assert(
            share > (build.flags.includes("-O0") ? 0.65 : 0.85),
            `${build.compiler} ${build.flags}: ${share} of ${found.accesses}`,
          );
          for (const one of found.met) met.add(one);
        }
      });
      // Every listed field is accessed in one of the builds.
      const lines = source.split("\n");
      const named = lines.flatMap((line, i) => {
        const [, first] = /\/\/: ((?:struct )?\S+)/.exec(line) ?? [];
        return first === undefined ? [] : [`${i + 1} ${first.replace("~", " ")}`];
      });
      assertEquals(named.filter((one) => !met.has(one)), []);
    },
  });
}

Deno.test({
  name:
    "annotate --data-type: fields have shares, one type can be selected, JSON works, unknown accesses are counted",
  ...ignored(notInstalled("gcc", "objdump")),
  async fn() {
    await inFolder(async (folder) => {
      const path = `${folder}/program`;
      await Deno.writeTextFile(`${folder}/program.c`, C_PROGRAM);
      output("gcc", "-O1", "-g", "-o", path, `${folder}/program.c`);
      const listed = output("objdump", "-d", "--no-show-raw-insn", path);
      const at = (name: string, insn: RegExp): bigint => {
        const text = listed.split(`<${name}>:\n`)[1]?.split("\n\n")[0] ?? "";
        const line = text.split("\n").find((one) => insn.test(one)) ?? "";
        return BigInt(`0x${line.trim().split(":")[0]}`);
      };
      // The text of a position-independent program has the same offset in the file.
      const samples = [
        { path, samples: 50, offset: at("walk", /mov +0x8\(%rdi\)/) },
        { path, samples: 30, offset: at("walk", /(add|mov) +\(%rdi\)/) },
        { path, samples: 15, offset: at("globals", /addl? |mov .*\(%rip\)/) },
        { path, samples: 5, offset: at("walk", /ret/) },
      ];
      const data = `${folder}/perf.data`;
      await Deno.writeFile(data, await mappedRecording(...samples));
      const all = await tool("annotate", ["--data-type", data]);
      assertEquals(all.code, 0, all.err);
      assertStringIncludes(all.out, "node_t in program: 80 samples, 80.00% of ");
      assert(/^ 50\.00% +0x8 +8 +next: struct node\*$/m.test(all.out), all.out);
      assert(/^ 30\.00% +0x0 +8 +key: long int$/m.test(all.out), all.out);
      assertStringIncludes(
        all.err,
        "the type of data is known for 95.00% of the samples; without: push, pop, call or return 5.00%",
      );
      const one = await tool("annotate", ["--data-type", "--json", data, "node_t"]);
      const rows = one.out.trimEnd().split("\n").map((line) => JSON.parse(line));
      assertEquals(rows.map(({ field, offset, samples }) => [field, offset, samples]), [
        ["key", 0, 30],
        ["next", 8, 50],
      ]);
      const none = await tool("annotate", ["--data-type", data, "nodes"]);
      assertEquals(none.code, 1);
      assertStringIncludes(none.err, "no access to data of type nodes; there are node_t");
      const both = await tool("annotate", ["--data-type", "--insns", data]);
      assertEquals(both.code, 2);
      // Without debug information there is no type, which a line reports.
      output("strip", "-g", path);
      const bare = await tool("annotate", ["--data-type", data]);
      assertEquals([bare.code, bare.out], [0, ""]);
      assertStringIncludes(
        bare.err,
        "known for 0.00% of the samples; without: no debug information",
      );
    });
  },
});

const SEPARATOR = "\x01";

Deno.test({
  name:
    "funcs --sort type, typeoff, typecln: each instruction has the type that a newer perf prints",
  ...ignored(noNewerPerf() ?? notInstalled("gcc", "clang") ?? noObjdump),
  async fn() {
    let compared = 0;
    await inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/program.c`, C_PROGRAM);
      for (const compiler of ["gcc", "clang"]) {
        // perf 6.12 with libdw 0.188 crashes on programs with DWARF 5.
        const path = `${folder}/${compiler}`, data = `${path}.data`;
        output(compiler, "-O2", "-gdwarf-4", "-o", path, `${folder}/program.c`);
        const starts = functionsOf(path), first = starts.get("walk") ?? 0;
        // All own functions except main are adjacent in the text.
        const insns = insnsOf(path).filter(({ address, text }) =>
          address >= first && /\(|^(push|pop|ret)/.test(text) &&
          !/^(lea|nop|call|data16|cs)/.test(text)
        );
        const offsets = insns.map(({ address }) => BigInt(address));
        await Deno.writeFile(data, await mappedRecording({ path, samples: 1, offsets }));
        const own = await tool("funcs", ["--sort", "symoff,typeoff,typecln", "--json", data]);
        assertEquals(own.code, 0, own.err);
        const known = new Map(
          own.out.trimEnd().split("\n").map((line) => {
            const { symoff, typeoff, typecln } = JSON.parse(line);
            return [symoff.replace(/\?$/, ""), { typeoff, typecln }];
          }),
        );
        const theirs = await newerPerfText([
          ...["report", "--stdio", "-s", "symoff,typeoff,typecln", "-F", "symoff,typeoff,typecln"],
          ...["-w", "200,200,200", "-t", SEPARATOR],
        ], data);
        for (const line of theirs.stdout.split("\n")) {
          const [place = "", typeoff = "", typecln = ""] = line.split(SEPARATOR).map((cell) =>
            cell.trim()
          );
          const symoff = place.replace(/^\[.\] /, "");
          const mine = known.get(symoff);
          if (mine === undefined || typeoff.startsWith("(unknown)")) continue;
          const [, name = "", offset = ""] = /^(.*)\+0x(.*)$/.exec(symoff) ?? [];
          const at = (starts.get(name) ?? 0) + parseInt(offset, 16);
          const insn = insns.find(({ address }) => address === at);
          if (insn === undefined) continue;
          // For stack accesses perf uses another variable than the one at that location.
          if (insn.text.includes("(%rsp)")) continue;
          compared++;
          // perf prints an array as one type; the element is not compared.
          if (typeoff.includes("[] +")) {
            assertEquals(
              mine.typeoff.split(" +")[0],
              typeoff.split("[] +")[0],
              `${symoff} ${insn.text}`,
            );
            continue;
          }
          const field = /\((.*)\)$/.exec(mine.typeoff)?.[1] ?? "";
          const plain = field.replace(/\[\].*/, "").replace("halves.y", "whole");
          assertEquals(
            oneName(mine.typeoff.replace(`(${field})`, `(${plain})`)),
            oneName(typeoff),
            `${compiler} ${symoff} ${insn.text}`,
          );
          assertEquals(oneName(mine.typecln), oneName(typecln));
        }
      }
    });
    assert(compared >= 50, `${compared} compared`);
  },
});

/** A structure is named by itself or by a `typedef`, whichever most instructions use. */
function oneName(text: string): string {
  return text.replace(/^struct node\b/, "node_t");
}

/** Start addresses of functions by name. */
function functionsOf(path: string): Map<string, number> {
  return new Map(
    [...output("nm", path).matchAll(/^([0-9a-f]+) [tT] (.*)$/gm)]
      .map(([, address = "", name = ""]) => [name, parseInt(address, 16)] as const),
  );
}
