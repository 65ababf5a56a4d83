// Entry point: declared metrics, counting, and scraping.

export { type FinishedCall, openCallMetrics } from "./calls.ts";
export { type Declared, declared } from "./declared.ts";
export { countLog } from "./log.ts";
export { watchProcess } from "./process.ts";
export { combineDocuments, metricsDocumentOf, keepGrowing, type Metrics, type MetricsDocument, type OpenMetrics, openMetrics, unmeasured } from "./registry.ts";
