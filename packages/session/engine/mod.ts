/**
 * Reading a recording for consumers, which get its records resolved.
 *
 * @module
 */
export type { Consumer, Needs } from "./engine_consumer.ts";
export { Engine, engineOf, type Extent, historyOf } from "./engine.ts";
export type { EngineOptions } from "./engine_options.ts";
export { runEngine } from "../reading/run_engine.ts";
export type { ThreadError, ThreadMessage, Workers, WorkerThread } from "../workers/thread.ts";
