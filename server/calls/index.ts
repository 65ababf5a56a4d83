// Entry point: request records and their reports.

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
  waitInQueue,
} from "./record.ts";
export type { Traces, TracesOptions } from "./trace.ts";

/** Opens tracing. Loads OpenTelemetry only here: 12 MB and a tenth of a second. */
export const openTraces = async (settings: TracesSettings, options: TracesOptions): Promise<Traces> => (await import("./otlp.ts")).openOtlp(settings, options);
