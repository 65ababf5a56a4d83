// What commands leave in the audit log: they run on the server's own machine, as the operator.

import { operatorUid } from "#authz";
import type { Origin } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import type { Cause, Services } from "#kernel";
import { record } from "#outbox";
import type { Write } from "#db";

export const commandOrigin = (command: string): Origin => ({ address: "", userAgent: `gantry ${command}` });

/** What a command changes is done by the operator, as whoever may use the server's data. */
export const commandCause = (command: string): Cause => ({
  operation: `gantry ${command}`,
  actor: { subject: operatorUid },
  bindings: () => [],
  origin: () => commandOrigin(command),
  requestId: "",
});

/** Records what a command did that is no operation of the API, in the transaction that does it. Internal: no subscription receives it. */
export const recordCommand = async (
  rows: Write,
  { publicUrl, clock }: Pick<Services, "publicUrl" | "clock">,
  command: string,
  type: string,
  subject: string,
): Promise<void> =>
  record(rows, {
    type,
    source: publicUrl,
    subject,
    group: "",
    audience: "internal",
    extensions: {},
    actor: { subject: operatorUid },
    bodyType: "",
    body: {},
    requestId: "",
    time: timestamp(clock()),
    auditContext: { operation: `gantry ${command}`, bindings: [], origin: commandOrigin(command) },
  });
