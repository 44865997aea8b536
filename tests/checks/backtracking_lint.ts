/**
 * Rules for `deno lint`: no regular expression takes more than linear time, since a recording's
 * author chooses the length of names, formats and features. An expression that only matches a
 * user's input has a comment: `// deno-lint-ignore perfdata-expressions/backtracking -- why`.
 */
import { backtracks } from "./backtracking.ts";

const ROOMS = /\/(?:packages|tools|view)\//;
const TESTS = /(?:_test|\btesting|_testing)\.tsx?$|\/testing\//;

const plugin: Deno.lint.Plugin = {
  name: "perfdata-expressions",
  rules: {
    backtracking: {
      create(context) {
        const { filename } = context;
        if (!ROOMS.test(filename) || TESTS.test(filename)) return {};
        return {
          Literal(node) {
            if (!("regex" in node) || node.regex === undefined) return;
            const { pattern, flags } = node.regex;
            if (!backtracks(pattern, flags)) return;
            context.report({
              node,
              message: "this expression takes more than linear time on some text",
              hint:
                "look for the text (endsWith, lastIndexOf), anchor it, or let loops share no text",
            });
          },
          NewExpression(node) {
            if (node.callee.type !== "Identifier" || node.callee.name !== "RegExp") return;
            context.report({
              node,
              message: "an expression that is made at run time cannot be checked",
              hint: "write it as a literal",
            });
          },
        };
      },
    },
  },
};

export default plugin;
