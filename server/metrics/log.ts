// Counts log events, before suppression.

import type { Log } from "#base/log.ts";
import { type LogEventName, logEventOf, logEvents } from "#base/log-events.ts";
import type { Metrics } from "./registry.ts";

const names = Object.keys(logEvents) as readonly LogEventName[];

export const countLog = (metrics: Metrics, log: Log): Log => {
  // A series that starts with its first event hides that event from rate().
  for (const event of names) metrics.count("gantry_log_events_total", { event, level: logEventOf(event).level }, 0);
  return (event, facts) => {
    metrics.count("gantry_log_events_total", { event, level: logEventOf(event).level });
    log(event, facts);
  };
};
