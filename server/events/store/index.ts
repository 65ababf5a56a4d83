// Public entry of the module: the tables of events, and the statements on them.

export * from "./deliveries.ts";
export {
  type Advanced,
  advanceFanOuts,
  deleteFanOuts,
  extendFanOuts,
  type FanOut,
  findFanOutFailures,
  findFanOuts,
  findSingleFanOuts,
  insertFanOut,
  type NewFanOut,
  postponeFanOut,
  readFanOuts,
} from "./fan-outs.ts";
export * from "./subscriptions.ts";
