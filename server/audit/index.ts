// The face of the room: the audit log.

export type { Link } from "./chain.ts";
export { type Audit, openAudit } from "./loop.ts";
export { dropMonths } from "./months.ts";
export type { Refused } from "./refusals.ts";
export { chainRoots, type Verdict, verifyChain, verifySum } from "./verify.ts";
