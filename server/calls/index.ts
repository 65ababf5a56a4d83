// The public entry of the module: the record of each request, and what is told of it.

import type { Log } from "#base/log.ts";
import type { TracesSettings } from "./otlp.ts";
import type { Traces } from "./trace.ts";

export { type Calls, newRequestId, openCalls } from "./calls.ts";
export type { TracesSettings } from "./otlp.ts";
export {
  type CallProtocol,
  CallRecord,
  countStatement,
  currentCall,
  describeCall,
  refuseCall,
  runInCall,
  tracePart,
  waitForDatabase,
  waitForTurn,
} from "./record.ts";
export type { Traces } from "./trace.ts";

/** Opens what sends traces. OpenTelemetry is loaded here: 12 MB and a tenth of a second that a server without it does not take. */
export const openTraces = async (settings: TracesSettings, of: { readonly version: string; readonly log: Log }): Promise<Traces> =>
  (await import("./otlp.ts")).openOtlp(settings, of);
