/** A thread that a command of `host.ts` started: it joins that run, then loads its module. */
import { becomeThread } from "./host.ts";

const { module, place } = JSON.parse(decodeURIComponent(new URL(import.meta.url).search.slice(1)));
becomeThread(place);
await import(module);
