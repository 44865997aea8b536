/**
 * A rule for `deno lint`: text is not made from the halves of a 64-bit value joined as a number,
 * which is exact only up to 2^53. `putDecimal64`, `wholeSeconds` and `IdMap` of `@perfdata/format`
 * take halves; a `bigint` is exact, too. A value that is compared or averaged, not printed, has a
 * comment: `// deno-lint-ignore perfdata/halves -- why`.
 */

/** Folders in which text is made, and the functions that make it. */
const ROOMS =
  /\/(packages\/(dump|edit|export|profile|pt|report|session|tables)|tools)\/(?:[^/]+\/)*[^/]+\.ts$/;
const TESTS = /(_test|\btesting)\.ts$/;

function isTwoToThe32(node: Deno.lint.Node): boolean {
  if (node.type === "Literal") return Number(node.raw.replaceAll("_", "")) === 2 ** 32;
  return node.type === "BinaryExpression" && node.operator === "**" &&
    node.left.type === "Literal" && node.left.value === 2 &&
    node.right.type === "Literal" && node.right.value === 32;
}

function isUpperHalf(node: Deno.lint.Node): boolean {
  return node.type === "BinaryExpression" && node.operator === "*" &&
    (isTwoToThe32(node.left) || isTwoToThe32(node.right));
}

const plugin: Deno.lint.Plugin = {
  name: "perfdata",
  rules: {
    halves: {
      create(context) {
        const { filename } = context;
        if (!ROOMS.test(filename) || TESTS.test(filename)) return {};
        return {
          BinaryExpression(node) {
            if (node.operator !== "+" || (!isUpperHalf(node.left) && !isUpperHalf(node.right))) {
              return;
            }
            context.report({
              node,
              message: "the halves of a 64-bit value are joined as a number where text is made",
              hint: "write the halves (putDecimal64, wholeSeconds), or join them as a bigint",
            });
          },
        };
      },
    },
  },
};

export default plugin;
