// Documents of decisions about findings, by format.

import { csafOfDecisions } from "./csaf.ts";
import { openVexOfDecisions } from "./openvex.ts";
import type { WriteDecisions } from "./statements.ts";

export { type ExportedDecisions, statedIds, statementsOf } from "./statements.ts";

export const decisionWriters = { OPENVEX: openVexOfDecisions, CSAF: csafOfDecisions } as const satisfies Readonly<Record<string, WriteDecisions>>;

export type DecisionWriterName = keyof typeof decisionWriters;
