import { assert, assertEquals } from "@std/assert";
import { compressIp, encodePackets } from "../packets/encode_packet.ts";
import type { Packet } from "../packets/packet.ts";
import { bytesRange, fixedSpace } from "./code.ts";
import { FlowDecoder } from "./flow_decoder.ts";
import { FlowStatus } from "./flow_options.ts";
import { FLOW_ERROR_TEXT, FlowError, FlowEvent } from "./flow_event.ts";

const KINDS = Object.fromEntries(
  Object.entries(FlowEvent).map(([name, kind]) => [kind, name]),
);

const PSB: readonly Packet[] = [
  { type: "PSB" },
  { type: "MODE.Exec", csL: true, csD: false, interruptFlag: false },
];
const PSBEND: Packet = { type: "PSBEND" };

function ip(type: "TIP" | "TIP.PGE" | "TIP.PGD" | "FUP", address?: bigint): Packet {
  // Uncompressed, so that packets do not depend on earlier ones.
  if (address === undefined) return { type, compression: 0, payload: 0n };
  const { payload } = compressIp(address, 1n << 63n);
  return { type, compression: 3, payload: payload & 0xffffffffffffn };
}

function tnt(bits: string): Packet {
  return { type: "TNT", long: bits.length > 6, count: bits.length, bits: BigInt(`0b${bits}`) };
}

function start(address: bigint): Packet[] {
  return [...PSB, ip("FUP", address), PSBEND];
}

/** Decodes packets for code `address: hex bytes`; returns a line per run (`+1000 1002`) and per event. */
function flow(code: Readonly<Record<string, string>>, packets: readonly Packet[]): string[] {
  const space = fixedSpace(
    Object.entries(code).map(([address, hex], i) =>
      bytesRange(
        i,
        BigInt(`0x${address}`),
        Uint8Array.from(hex.split(" "), (pair) => parseInt(pair, 16)),
      )
    ),
  );
  const lines: string[] = [];
  const decoder = new FlowDecoder({ space }, {
    flow(run) {
      for (let i = 0; i < run.count; i++) {
        const entry = run.entries[i] as number;
        if (entry >= 0) {
          const { paths, blocks } = run;
          for (let k = paths.start[entry] as number; k < (paths.start[entry + 1] as number); k++) {
            const block = paths.blocks[k] as number;
            const base = (blocks.low[block] as number) >>> 0;
            const ips: string[] = [];
            blocks.eachInsn(space, block, (offset) => ips.push((base + offset).toString(16)));
            lines.push(`+${ips.join(" ")}`);
          }
          continue;
        }
        const n = ~entry;
        const kind = run.kind[n] as number;
        if (kind === FlowEvent.TIME || kind === FlowEvent.PSB) continue;
        const at = ((run.ipLow[n] as number) >>> 0).toString(16);
        const to = ((run.low[n] as number) >>> 0).toString(16);
        const detail = kind === FlowEvent.ERROR
          ? FLOW_ERROR_TEXT[run.detail[n] as number]
          : run.detail[n];
        lines.push(`${KINDS[kind]} ${detail} ${at} ${to}`);
      }
    },
  });
  decoder.feed(encodePackets(packets));
  decoder.end();
  let status = decoder.run();
  // Host and guest have the same code in these tests.
  while (status === FlowStatus.SPACE) status = decoder.run();
  assertEquals(status, FlowStatus.END);
  return lines;
}

// 1000: nop; nop; jmp rax
const JUMP = { "1000": "90 90 ff e0", "2000": "90 90 90 ff e0" };

Deno.test("FlowDecoder: an interrupt has the address of the instruction that was not executed", () => {
  assertEquals(
    flow(JUMP, [...start(0x1000n), ip("FUP", 0x1001n), ip("TIP", 0x2000n), ip("TIP", 0x1000n)]),
    ["SYNC 0 1000 0", "+1000", "ASYNC 0 1001 2000", "+2000 2001 2002 2003"],
  );
});

Deno.test("FlowDecoder: a compressed return after missing code is a NO_CODE error, until the next PSB", () => {
  // 1000: call 3000, where no code is; 2000: ret
  const code = { "1000": "e8 fb 1f 00 00", "2000": "c3" };
  assertEquals(
    flow(code, [
      ...start(0x1000n),
      ip("TIP", 0x2000n),
      tnt("1"),
      ...start(0x2000n),
      tnt("1"),
    ]),
    [
      "SYNC 0 1000 0",
      "+1000",
      "ERROR no code at hand 3000 0",
      "SYNC 0 2000 0",
      "+2000",
      "ERROR no code at hand 2000 0",
      "SYNC 0 2000 0",
      "+2000",
      "ERROR return without its call 2000 0",
    ],
  );
});

Deno.test("FlowDecoder.holds: run stops before TIP.PGE and PIP, at the address after a system call", () => {
  // 1000: nop; syscall; nop
  const space = fixedSpace([bytesRange(0, 0x1000n, Uint8Array.of(0x90, 0x0f, 0x05, 0x90))]);
  const kinds: number[] = [];
  const decoder = new FlowDecoder({ space }, {
    flow(run) {
      for (let i = 0; i < run.count; i++) {
        const entry = run.entries[i] as number;
        if (entry < 0) kinds.push(run.kind[~entry] as number);
      }
    },
  });
  decoder.holds = true;
  decoder.feed(encodePackets([
    ...start(0x1000n),
    ip("TIP.PGD"),
    ip("TIP.PGE", 0x1003n),
    { type: "PIP", cr3: 0x5000n, nr: false },
  ]));
  assertEquals(decoder.run(), FlowStatus.HELD);
  assertEquals([decoder.isOff, decoder.atLow, decoder.enables], [true, 0x1003, 1]);
  assertEquals(kinds.includes(FlowEvent.ENABLED), false);
  assertEquals(decoder.run(), FlowStatus.HELD);
  assertEquals([decoder.tracing, decoder.enables], [true, 2]);
  assertEquals([kinds.includes(FlowEvent.ENABLED), kinds.includes(FlowEvent.PIP)], [true, false]);
  assertEquals(decoder.run(), FlowStatus.NEED_MORE);
  decoder.flush();
  assertEquals(kinds.at(-1), FlowEvent.PIP);
});

Deno.test("FlowDecoder: a transaction and its abort give TSX events", () => {
  const lines = flow(JUMP, [
    ...start(0x1000n),
    { type: "MODE.TSX", inTx: true, txAbort: false },
    ip("FUP", 0x1001n),
    { type: "MODE.TSX", inTx: false, txAbort: true },
    ip("FUP", 0x1002n),
    ip("TIP", 0x2000n),
    ip("TIP", 0x1000n),
  ]);
  assertEquals(lines, [
    "SYNC 0 1000 0",
    "+1000",
    "TSX 1 1001 21",
    "+1001",
    "TSX 2 1002 22",
    "ASYNC 0 1002 2000",
    "+2000 2001 2002 2003",
  ]);
});

Deno.test("FlowDecoder: a PTWRITE with and without a FUP has its address", () => {
  // 1000: nop; ptwrite eax; nop; jmp rax
  const code = { "1000": "90 f3 0f ae e0 90 ff e0" };
  const ptw = (ip: boolean): Packet => ({ type: "PTW", operandSize: 4, payload: 7n, ip });
  assertEquals(
    flow(code, [...start(0x1000n), ptw(true), ip("FUP", 0x1001n), ip("TIP", 0x1000n)]),
    ["SYNC 0 1000 0", "+1000", "PTWRITE 4 1001 7", "+1001", "+1005 1006"],
  );
  // Without a FUP, the address is that of the next PTWRITE.
  assertEquals(
    flow(code, [...start(0x1000n), ptw(false), ip("TIP", 0x1000n)]),
    ["SYNC 0 1000 0", "+1000 1001", "PTWRITE 4 0 7", "+1005 1006"],
  );
});

Deno.test("FlowDecoder: power, VMX and trace packets give their events", () => {
  const lines = flow(JUMP, [
    ...start(0x1000n),
    { type: "MWAIT", hints: 0x20, extensions: 1 },
    { type: "PWRE", hardware: false, cState: 2, subCState: 1 },
    { type: "EXSTOP", ip: true },
    ip("FUP", 0x1001n),
    { type: "PWRX", lastCState: 2, deepestCState: 2, wakeReason: 1 },
    { type: "VMCS", base: 0x123000n },
    { type: "PIP", cr3: 0x5000n, nr: true },
    { type: "CFE", eventType: 1, vector: 14, ip: true },
    ip("FUP", 0x1001n),
    { type: "EVD", eventType: 0, payload: 0x77n },
    ip("TIP", 0x2000n),
  ]);
  assertEquals(lines, [
    "SYNC 0 1000 0",
    "MWAIT 0 0 20",
    "PWRE 0 0 2100",
    "+1000",
    "EXSTOP 0 1001 0",
    "PWRX 0 0 122",
    "VMCS 0 0 123000",
    "PIP 1 0 5000",
    "CFE 1 1001 e",
    "EVD 0 0 77",
    "ASYNC 0 1001 2000",
  ]);
});

Deno.test("FlowDecoder: a FUP after an overflow only sets the address of execution", () => {
  assertEquals(
    flow(JUMP, [...start(0x1000n), { type: "OVF" }, ip("FUP", 0x2001n), ip("TIP", 0x1000n)]),
    [
      "SYNC 0 1000 0",
      `ERROR ${FLOW_ERROR_TEXT[FlowError.OVERFLOW]} 1000 0`,
      "SYNC 0 2001 0",
      "+2001 2002 2003",
    ],
  );
  // Tracing has ended; the TIP.PGE begins it again.
  assertEquals(
    flow(JUMP, [...start(0x1000n), { type: "OVF" }, ip("TIP.PGE", 0x2003n), ip("TIP", 0x1000n)]),
    [
      "SYNC 0 1000 0",
      `ERROR ${FLOW_ERROR_TEXT[FlowError.OVERFLOW]} 1000 0`,
      "ENABLED 0 2003 0",
      "+2003",
    ],
  );
});

Deno.test("FlowDecoder: tracing ends at a system call, and at a branch out of a filter", () => {
  // 1000: nop; syscall; nop; jne 2000
  const code = { "1000": "90 0f 05 90 0f 85 f6 0f 00 00", "2000": "90" };
  assertEquals(
    flow(code, [
      ...start(0x1000n),
      ip("TIP.PGD"),
      ip("TIP.PGE", 0x1003n),
      ip("TIP.PGD", 0x2000n),
    ]),
    [
      "SYNC 0 1000 0",
      "+1000 1001",
      "DISABLED 0 0 0",
      "ENABLED 0 1003 0",
      "+1003 1004",
      "DISABLED 1 0 2000",
    ],
  );
});

Deno.test("FlowDecoder: a PSB+ checks the address; without an address, tracing is off", () => {
  assertEquals(
    flow(JUMP, [...start(0x1000n), ...start(0x1002n), ip("TIP", 0x2000n)]),
    ["SYNC 0 1000 0", "+1000 1001", "+1002"],
  );
  const mismatch = FLOW_ERROR_TEXT[FlowError.MISMATCH];
  assertEquals(
    flow(JUMP, [...start(0x1000n), ...start(0x2001n), ip("TIP", 0x1000n)]),
    ["SYNC 0 1000 0", `ERROR ${mismatch} 1000 0`, "SYNC 0 2001 0", "+2001 2002 2003"],
  );
  assertEquals(
    flow(JUMP, [...PSB, PSBEND, ip("TIP.PGE", 0x1000n), ip("TIP", 0x2000n)]),
    ["ENABLED 0 1000 0", "+1000 1001 1002"],
  );
});

Deno.test("FlowDecoder: errors have address and reason; decoding continues at a TIP", () => {
  const text = (error: FlowError) => FLOW_ERROR_TEXT[error];
  // A TNT at an indirect branch: its TIP may be deferred, but not by two TNTs.
  assertEquals(
    flow(JUMP, [...start(0x1000n), tnt("1"), tnt("1"), ip("TIP", 0x2003n), ip("TIP", 0x1000n)]),
    [
      "SYNC 0 1000 0",
      `ERROR ${text(FlowError.MISMATCH)} 1002 0`,
      "SYNC 0 2003 0",
      "+2003",
    ],
  );
  // No code at 5000; a page that ends in the middle of an instruction.
  assertEquals(
    flow(JUMP, [...start(0x1000n), ip("TIP", 0x5000n), tnt("1"), ip("TIP", 0x2003n)]),
    [
      "SYNC 0 1000 0",
      "+1000 1001 1002",
      `ERROR ${text(FlowError.NO_CODE)} 5000 0`,
      "SYNC 0 2003 0",
    ],
  );
  assertEquals(
    flow({ "1000": "90 e8 00" }, [...start(0x1000n), ip("TIP", 0x1000n)]),
    ["SYNC 0 1000 0", "+1000", `ERROR ${text(FlowError.NO_CODE)} 1001 0`, "SYNC 0 1000 0"],
  );
  // Bytes that are not an instruction, and code that loops.
  assertEquals(
    flow({ "1000": "90 06" }, [...start(0x1000n), ip("TIP", 0x1000n)]),
    ["SYNC 0 1000 0", "+1000", `ERROR ${text(FlowError.BAD_CODE)} 1001 0`, "SYNC 0 1000 0"],
  );
  const circle = flow({ "1000": "90 eb fd" }, [...start(0x1000n), ip("TIP", 0x1000n)]);
  assert(circle[1]?.startsWith(`ERROR ${text(FlowError.LOOP)}`), circle.join("\n"));
  // A compressed return without its call.
  assertEquals(
    flow({ "1000": "90 c3" }, [...start(0x1000n), tnt("1"), ip("TIP", 0x1000n)]),
    ["SYNC 0 1000 0", "+1000 1001", `ERROR ${text(FlowError.NO_CALL)} 1001 0`, "SYNC 0 1000 0"],
  );
});

Deno.test("FlowDecoder: deferred TIPs after the TNT that continues beyond their branches are followed", () => {
  // 1000: jne 1002; jmp rax; 2000: jne 2002; jmp rax
  const code = { "1000": "75 00 ff e0", "2000": "75 00 ff e0" };
  assertEquals(
    flow(code, [...start(0x1000n), tnt("010"), ip("TIP", 0x2000n), ip("TIP", 0x1000n)]),
    ["SYNC 0 1000 0", "+1000", "+1002", "+2000", "+2002", "+1000"],
  );
});

Deno.test("FlowDecoder: an instruction across two ranges is decoded", () => {
  const lines = flow(
    { "1000": "90 0f 85", "1003": "02 00 00 00 90 90 ff e0" },
    [...start(0x1000n), tnt("1"), ip("TIP", 0x1000n)],
  );
  assertEquals(lines, ["SYNC 0 1000 0", "+1000 1001", "+1009"]);
});

Deno.test("FlowDecoder: code after a MODE.Exec is decoded in its mode", () => {
  // 48 is dec eax in 32-bit code and a prefix in 64-bit code.
  const code = { "1000": "90 ff e0", "2000": "48 90 ff e0" };
  const mode: Packet = { type: "MODE.Exec", csL: false, csD: true, interruptFlag: false };
  assertEquals(
    flow(code, [...start(0x1000n), mode, ip("TIP", 0x2000n), ip("TIP", 0x1000n)]),
    ["SYNC 0 1000 0", "+1000 1001", "MODE 32 0 0", "+2000 2001 2002"],
  );
});

Deno.test("FlowDecoder: the result does not depend on the pieces of the stream", () => {
  const packets = [
    ...start(0x1000n),
    ip("TIP", 0x2000n),
    { type: "OVF" } as const,
    ...start(0x1000n),
  ];
  const bytes = encodePackets(packets);
  const space = fixedSpace(
    Object.entries(JUMP).map(([address, hex], i) =>
      bytesRange(
        i,
        BigInt(`0x${address}`),
        Uint8Array.from(hex.split(" "), (pair) => parseInt(pair, 16)),
      )
    ),
  );
  const outputs = [1, 2, 7, 1000].map((size) => {
    const out: number[] = [];
    const decoder = new FlowDecoder({ space }, {
      flow: ({ entries, count, kind }) => {
        for (const entry of entries.subarray(0, count)) {
          out.push(entry >= 0 ? entry : -1 - (kind[~entry] as number));
        }
      },
    });
    for (let at = 0; at < bytes.length; at += size) {
      decoder.feed(bytes.subarray(at, at + size));
      decoder.run();
    }
    decoder.end();
    decoder.run();
    return out;
  });
  for (const out of outputs) assertEquals(out, outputs[0]);
});

Deno.test("FlowDecoder: code that leads into a loop without packets is not reported as executed", () => {
  // 1000: jne 1004. There are loops from 1004 on: in a block, in a range, through two ranges.
  const head = "75 02 90 90";
  const circles: readonly Readonly<Record<string, string>>[] = [
    { 1000: `${head} eb fe` },
    { 1000: `${head} 90 90 eb 02 90 90 eb f8` },
    { 1000: `${head} e9 f7 0f 00 00`, 2000: "90 90 90 e9 fc ef ff ff" },
  ];
  for (const code of circles) {
    for (const last of [tnt("11"), ip("TIP", 0x1000n)]) {
      const ranges = Object.entries(code).map(([address, hex], i) =>
        bytesRange(
          i,
          BigInt(`0x${address}`),
          Uint8Array.from(hex.split(" "), (pair) => parseInt(pair, 16)),
        )
      );
      const insns: number[] = [];
      const errors: number[] = [];
      const decoder = new FlowDecoder({ space: fixedSpace(ranges) }, {
        flow({ entries, count, paths, kind, detail }) {
          for (let i = 0; i < count; i++) {
            const entry = entries[i] as number;
            if (entry >= 0) insns.push(paths.insns[entry] as number);
            else if (kind[~entry] === FlowEvent.ERROR) errors.push(detail[~entry] as number);
          }
        },
      });
      // Twice, so that the paths are cached the second time.
      const packets = [...start(0x1000n), tnt("1"), last];
      decoder.feed(encodePackets([...packets, ...packets]));
      decoder.end();
      decoder.run();
      assertEquals(errors, [FlowError.LOOP, FlowError.LOOP]);
      // Only the first branch each time: a packet confirms that it was taken.
      assertEquals(insns.filter((n) => n > 0), [1, 1]);
      assertEquals(decoder.counts.insns, 2);
      assert(decoder.counts.unsureInsns >= 2, `${decoder.counts.unsureInsns}`);
      assert(decoder.counts.unsureInsns < 1e6, `${decoder.counts.unsureInsns}`);
    }
  }
});
