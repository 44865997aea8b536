import { assertEquals } from "@std/assert";
import { runFunction, runObject } from "./run_names.ts";

/** Names of one function or object in two executions of a program, and the common name. */
type Pair = readonly [string, string, string];

Deno.test("runObject: objects of JIT compilers in two runs get one name, others stay", () => {
  const pairs: readonly Pair[] = [
    ["[JIT] tid 21870", "[JIT] tid 21837", "[JIT]"],
    ["/tmp/perf-21870.map", "/tmp/perf-7.map", "[JIT]"],
    ["perf-21870.map", "[JIT] tid 7", "[JIT]"],
    ["jitted-21870-14.so", "/root/.debug/jit/x/jitted-7-9.so", "[JIT]"],
    ["/tmp/jit-21870.dump", "jit-7.dump", "[JIT]"],
    ["[stack:12]", "[stack:7]", "[stack]"],
  ];
  for (const [before, after, name] of pairs) {
    assertEquals([runObject(before), runObject(after)], [name, name]);
  }
  const own = ["libjit-7.so", "perf-tool.map", "jitted.so", "[vdso]", "[kernel.kallsyms]", "a/b-7"];
  assertEquals(own.map(runObject), own);
});

Deno.test("runFunction: names with addresses and numbers of two runs get one name", () => {
  const pairs: readonly Pair[] = [
    [
      "a.B$$Lambda$14/0x00007f10c4003000.run",
      "a.B$$Lambda$15/0x00007f20d4003228.run",
      "a.B$$Lambda.run",
    ],
    ["a.B$$Lambda/0x00007f10c4003000.run", "a.B$$Lambda/0x00007f20d4003228.run", "a.B$$Lambda.run"],
    ["a.B$$Lambda$14/1878246837.run", "a.B$$Lambda$3/12.run", "a.B$$Lambda.run"],
    ["Lambda$14/0x0000000800c03000.get", "Lambda$2/0x0000000800c04000.get", "Lambda$.get"],
    [
      "java.lang.invoke.LambdaForm$MH/0x00007f10c4003000.invoke(Object)",
      "java.lang.invoke.LambdaForm$MH/0x00007f20d4003228.invoke(Object)",
      "java.lang.invoke.LambdaForm$MH.invoke(Object)",
    ],
    [
      "java.lang.invoke.LambdaForm$DMH012/1878246837.invokeStatic",
      "java.lang.invoke.LambdaForm$DMH003/99.invokeStatic",
      "java.lang.invoke.LambdaForm$DMH.invokeStatic",
    ],
    [
      "jdk.internal.reflect.GeneratedMethodAccessor12.invoke",
      "jdk.internal.reflect.GeneratedMethodAccessor7.invoke",
      "jdk.internal.reflect.GeneratedMethodAccessor.invoke",
    ],
    [
      "void GeneratedConstructorAccessor3.<init>",
      "void GeneratedConstructorAccessor4.<init>",
      "void GeneratedConstructorAccessor.<init>",
    ],
    ["jdk.proxy2.$Proxy7.name()", "jdk.proxy3.$Proxy12.name()", "jdk.proxy.$Proxy.name()"],
    ["com.sun.proxy.$Proxy7.name()", "com.sun.proxy.$Proxy8.name()", "com.sun.proxy.$Proxy.name()"],
    [
      "a.B$$EnhancerBySpringCGLIB$$1a2b3c4d.f",
      "a.B$$EnhancerBySpringCGLIB$$9f.f",
      "a.B$$EnhancerBySpringCGLIB$$.f",
    ],
    ["[JIT] tid 7", "[jitted-8-1.so]", "[JIT]"],
    ["trace at 0x7f1200", "trace at 0x7f3400", "trace at 0x…"],
  ];
  for (const [before, after, name] of pairs) {
    assertEquals([runFunction(before), runFunction(after)], [name, name]);
  }
});

Deno.test("runFunction: numbers that belong to a name stay", () => {
  const own = [
    "int Walk.lambda$main$0()",
    "Outer$1.run()",
    "I2C/C2I adapters(0xbbbabbbb)",
    "JS:*render /srv/app/page.js:10:3",
    "py::inner:/srv/app0x7/a.py",
    "main.main.func1",
    "std::array<int, 12>::operator[]",
    "operator new@plt",
    "memcpy@@GLIBC_2.14",
    "core::ops::function::FnOnce::call_once{{vtable.shim}}",
  ];
  assertEquals(own.map(runFunction), own);
});
