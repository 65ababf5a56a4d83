// Audit entries of commands, which run on the server's machine as the operator.

import { operatorUid } from "#base/operator.ts";
import type { Origin } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import type { Cause, Services } from "#kernel";
import { record } from "#outbox";
import type { Write } from "#db";

export const commandOrigin = (command: string): Origin => ({ address: "", userAgent: `gantry ${command}` });

/** Returns the cause of a command's changes: the operator. */
export const commandCause = (command: string): Cause => ({
  operation: `gantry ${command}`,
  actor: { subject: operatorUid },
  bindings: () => [],
  origin: () => commandOrigin(command),
  requestId: "",
});

/** Records in the command's transaction an action that is no API operation. Internal: no subscription receives the event. */
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
