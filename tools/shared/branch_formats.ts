/** The formats for optimisers and coverage, with the programs that read them. */
export const BRANCH_FORMATS: Readonly<Record<string, string>> = {
  bolt: "branches of --binary, for perf2bolt -pa",
  profgen: "branches of --binary, for llvm-profgen, which makes profiles for clang",
  autofdo: "a profile by functions and lines, for clang -fprofile-sample-use",
  lcov: "coverage of --binary by lines, functions and branches, for genhtml and codecov",
};
