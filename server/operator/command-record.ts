// Commands in the audit log: on the server's own machine, by whoever may use its data.

import { operatorUid } from "#authz";
import type { Origin } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import type { Cause, Services } from "#kernel";
import { record } from "#outbox";
import type { Write } from "#store";

export const commandOrigin = (command: string): Origin => ({ address: "", userAgent: `gantry ${command}` });

/** What a command changes is done by the operator, as whoever may use the server's data. */
export const commandCause = (command: string): Cause => ({
  operation: `gantry ${command}`,
  actor: { subject: operatorUid },
  bindings: () => [],
  origin: () => commandOrigin(command),
  requestId: "",
});

/** Writes down what a command did that is no operation, in its own transaction. Kept inside: no subscription hears it. */
export const recordCommand = async (rows: Write, { publicUrl, clock }: Services, command: string, type: string, subject: string): Promise<void> =>
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
