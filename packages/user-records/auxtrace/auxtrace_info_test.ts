import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  armSpeInfo,
  AUXTRACE_INFO,
  csEtmInfo,
  intelBtsInfo,
  intelPtInfo,
  privWords,
} from "./auxtrace_info.ts";
import { armSpePrivV1, armSpePrivV2 } from "../auxtrace_info/arm_spe.ts";
import { csEtmPriv } from "../auxtrace_info/cs_etm.ts";
import { intelBtsPriv } from "../auxtrace_info/intel_bts.ts";
import { intelPtPriv } from "../auxtrace_info/intel_pt.ts";
import type { PrivCodec } from "../auxtrace_info/words.ts";
import { check, fieldNames, layout } from "../hand_testing.ts";

const FIRST_PT = [6n, 31n, 1789569706n, 0xffff_fff8_6343_cb91n, 1n, 0x400n, 0x800n, 3n, 0n, 1n];
const LATER_PT = [0x200n, 0x3c000n, 100n, 2n, 2n, 12n];
const ETMV4_V0 = [0x40n, 0x10n, 0x28000ea1n, 0x4100f421n, 0x20001088n, 0n, 0xccn];

Deno.test("AUXTRACE_INFO: a record of any type decodes to its words", () => {
  for (const type of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
    check(AUXTRACE_INFO, layout().u32(type, 0).u64(5, 6), { body: { type, priv: [5n, 6n] } });
  }
  check(AUXTRACE_INFO, layout().u32(1).u8(0, 0, 1, 0).u64(5).u8(7, 8), {
    body: { type: 1, reserved__: Uint8Array.of(0, 0, 1, 0), priv: [5n] },
    tail: Uint8Array.of(7, 8),
  });
});

Deno.test("intelPtInfo: the 10 words of the first perf are decoded, fewer give undefined", () => {
  const first = {
    pmu_type: 6n,
    time_shift: 31n,
    time_mult: 1789569706n,
    time_zero: 0xffff_fff8_6343_cb91n,
    cap_user_time_zero: 1n,
    tsc_bit: 0x400n,
    noretcomp_bit: 0x800n,
    have_sched_switch: 3n,
    snapshot_mode: 0n,
    per_cpu_mmaps: 1n,
  };
  assertEquals(intelPtInfo({ type: 1, priv: FIRST_PT }), first);
  assertEquals(intelPtInfo({ type: 1, priv: [...FIRST_PT, ...LATER_PT, 0n] }), {
    ...first,
    mtc_bit: 0x200n,
    mtc_freq_bits: 0x3c000n,
    tsc_ctc_n: 100n,
    tsc_ctc_d: 2n,
    cyc_bit: 2n,
    max_nonturbo_ratio: 12n,
    filter_str_len: 0n,
  });
  assertEquals(intelPtInfo({ type: 1, priv: FIRST_PT.slice(1) }), undefined);
  assertEquals(intelPtInfo({ type: 2, priv: FIRST_PT }), undefined);
});

Deno.test("intelPtInfo: an address filter is decoded, in both byte orders", () => {
  const filter = "filter 0x1000/0x20@/bin/true";
  const bytes = new TextEncoder().encode(filter);
  for (const littleEndian of [true, false]) {
    const view = new DataView(new ArrayBuffer(32));
    bytes.forEach((byte, i) => view.setUint8(i, byte));
    const text = [0, 8, 16, 24].map((at) => view.getBigUint64(at, littleEndian));
    const priv = [...FIRST_PT, ...LATER_PT, 28n, ...text, 1n];
    const info = intelPtInfo({ type: 1, priv }, { littleEndian });
    assertEquals(info?.filter_str_len, 28n);
    assertEquals(info?.filter, filter);
    assertEquals(info?.cap_event_trace, 1n);
    assertEquals(info?.rest, undefined);
    assert(info !== undefined);
    assertEquals(privWords(intelPtPriv, info, { littleEndian }), priv);
  }
});

Deno.test("intelPtInfo: a filter longer than the record is ignored", () => {
  const priv = [...FIRST_PT, ...LATER_PT, 0xffff_ffff_ffff_ffffn, 0x41n, 0x42n];
  const info = intelPtInfo({ type: 1, priv });
  assertEquals(info?.filter, undefined);
  assertEquals([info?.cap_event_trace, info?.rest], [0x41n, [0x42n]]);
});

Deno.test("intelBtsInfo: words are decoded by name", () => {
  assertEquals(intelBtsInfo({ type: 2, priv: [7n, 31n, 829n, 5n, 1n, 0n] }), {
    pmu_type: 7n,
    time_shift: 31n,
    time_mult: 829n,
    time_zero: 5n,
    cap_user_time_zero: 1n,
    snapshot_mode: 0n,
  });
});

Deno.test("armSpeInfo: both versions are decoded, other words give undefined", () => {
  assertEquals(armSpeInfo({ type: 4, priv: [8n, 1n] }), { pmu_type: 8n, per_cpu_mmaps: 1n });
  const magic = 0x1010_1010_1010_1010n;
  const none = 0xffff_ffff_ffff_ffffn;
  const priv = [2n, 4n, 8n, 2n, magic, 0n, 4n, 0x410f_d850n, 8n, 1024n, 3n]
    .concat([magic, 1n, 3n, 0x410f_d850n, none, 0n]);
  assertEquals(armSpeInfo({ type: 4, priv }), {
    header_version: 2n,
    header_size: 4n,
    pmu_type_v2: 8n,
    cpus_num: 2n,
    cpus: [
      {
        magic,
        cpu: 0n,
        nr_params: 4n,
        midr: 0x410f_d850n,
        pmu_type: 8n,
        cap_min_ival: 1024n,
        cap_event_filter: 3n,
      },
      { magic, cpu: 1n, nr_params: 3n, midr: 0x410f_d850n, pmu_type: none, cap_min_ival: 0n },
    ],
  });
  // simpleperf writes a version 1 that is longer than perf's.
  assertEquals(armSpeInfo({ type: 4, priv: [1n, 3n, 4n, 0n, 1n] }), undefined);
});

Deno.test("csEtmInfo: version 0 has blocks of fixed size", () => {
  const etmv3 = 0x3030_3030_3030_3030n;
  const etmv4 = 0x4040_4040_4040_4040n;
  const info = csEtmInfo({
    type: 3,
    priv: [0n, 0x7_0000_0002n, 0n, etmv4, 0n, ...ETMV4_V0, etmv3, 1n, 0x1000n, 0x12n, 3n, 4n],
  });
  assertEquals(info, {
    header_version: 0n,
    pmu_type_cpus: { num_cpu: 2, pmu_type: 7 },
    snapshot: 0n,
    cpus: [
      {
        magic: etmv4,
        cpu: 0n,
        trcconfigr: 0x40n,
        trctraceidr: 0x10n,
        trcidr0: 0x28000ea1n,
        trcidr1: 0x4100f421n,
        trcidr2: 0x20001088n,
        trcidr8: 0n,
        trcauthstatus: 0xccn,
      },
      { magic: etmv3, cpu: 1n, etmcr: 0x1000n, etmtraceidr: 0x12n, etmccer: 3n, etmidr: 4n },
    ],
  });
});

Deno.test("csEtmInfo: later versions have blocks with a length word", () => {
  const ete = 0x5050_5050_5050_5050n;
  const priv = [2n, 0x8_0000_0003n, 1n, ete, 0n, 10n, ...ETMV4_V0, 0x47715a13n, 1n, 99n]
    .concat([0x6060n, 5n, 1n, 77n]) // a macrocell of the future
    .concat([ete, 6n, 8n, 1n]); // cut short
  const info = csEtmInfo({ type: 3, priv });
  assertEquals(info?.cpus, [
    {
      magic: ete,
      cpu: 0n,
      nr_trc_params: 10n,
      trcconfigr: 0x40n,
      trctraceidr: 0x10n,
      trcidr0: 0x28000ea1n,
      trcidr1: 0x4100f421n,
      trcidr2: 0x20001088n,
      trcidr8: 0n,
      trcauthstatus: 0xccn,
      trcdevarch: 0x47715a13n,
      ts_source: 1n,
      rest: [99n],
    },
    { magic: 0x6060n, cpu: 5n, nr_trc_params: 1n, rest: [77n] },
  ]);
  assertEquals(info?.rest, [ete, 6n, 8n, 1n]);
});

Deno.test("AUXTRACE_INFO: a trace receives the words by name", () => {
  const pt = layout().u32(1, 0).u64(...FIRST_PT, ...LATER_PT, 3).text("x y", 8).u64(0);
  assertEquals(fieldNames(AUXTRACE_INFO, pt), [
    "type",
    "reserved__",
    "priv.pmu_type",
    "priv.time_shift",
    "priv.time_mult",
    "priv.time_zero",
    "priv.cap_user_time_zero",
    "priv.tsc_bit",
    "priv.noretcomp_bit",
    "priv.have_sched_switch",
    "priv.snapshot_mode",
    "priv.per_cpu_mmaps",
    "priv.mtc_bit",
    "priv.mtc_freq_bits",
    "priv.tsc_ctc_n",
    "priv.tsc_ctc_d",
    "priv.cyc_bit",
    "priv.max_nonturbo_ratio",
    "priv.filter_str_len",
    "priv.filter",
    "priv.cap_event_trace",
    "priv.rest",
  ]);
  const short = layout().u32(1, 0).u64(6, 31);
  assertEquals(fieldNames(AUXTRACE_INFO, short), ["type", "reserved__", "priv.[0]", "priv.[1]"]);
  const etm = layout().u32(3, 0).u64(1, 1, 0, 0x3030_3030_3030_3030n, 0, 1, 0x1000);
  assertEquals(fieldNames(AUXTRACE_INFO, etm).slice(2), [
    "priv.header_version",
    "priv.pmu_type_cpus",
    "priv.snapshot",
    "priv.cpus.[0].magic",
    "priv.cpus.[0].cpu",
    "priv.cpus.[0].nr_trc_params",
    "priv.cpus.[0].etmcr",
    "priv.cpus.[0].etmtraceidr",
    "priv.cpus.[0].etmccer",
    "priv.cpus.[0].etmidr",
    "priv.cpus.[0].rest",
    "priv.rest",
  ]);
});

Deno.test("privWords: restores any words from their names", () => {
  const word = fc.oneof(
    fc.bigInt({ min: 0n, max: 9n }),
    fc.constantFrom(
      0x3030_3030_3030_3030n,
      0x4040_4040_4040_4040n,
      0x5050_5050_5050_5050n,
      0x1_0000_0002n,
    ),
    fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
  );
  let named = 0;
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 40 }),
      fc.constantFrom(1, 2, 3, 4),
      fc.boolean(),
      (priv, type, littleEndian) => {
        const kinds: [unknown, PrivCodec<never>][] = [
          [intelPtInfo({ type, priv }, { littleEndian }), intelPtPriv as PrivCodec<never>],
          [intelBtsInfo({ type, priv }), intelBtsPriv as PrivCodec<never>],
          [csEtmInfo({ type, priv }), csEtmPriv as PrivCodec<never>],
          [
            armSpeInfo({ type, priv }),
            (priv.length === 2 ? armSpePrivV1 : armSpePrivV2) as PrivCodec<never>,
          ],
        ];
        for (const [info, kind] of kinds) {
          if (info === undefined) continue;
          named++;
          assertEquals(privWords(kind, info as never, { littleEndian }), priv);
        }
      },
    ),
    { numRuns: 2000 },
  );
  assert(named > 500);
});
