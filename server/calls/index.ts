// The public entry of the module: the record of each request, and what is told of it.

import type { TracesSettings } from "./otlp.ts";
import type { Traces, TracesOptions } from "./trace.ts";

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
export type { Traces, TracesOptions } from "./trace.ts";

/** Opens what sends traces. OpenTelemetry is loaded here: 12 MB and a tenth of a second that a server without it does not take. */
export const openTraces = async (settings: TracesSettings, options: TracesOptions): Promise<Traces> => (await import("./otlp.ts")).openOtlp(settings, options);
