/** UI library of the page. Its version is set here, and in `deno.json` for JSX. */
// deno-lint-ignore-file no-import-prefix -- in the lock of development, not in that of commands
export {
  type ComponentChildren,
  createContext,
  type JSX,
  type RefObject,
  render,
} from "npm:preact@10.27.2";
export {
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "npm:preact@10.27.2/hooks";
