// Runs a write in its transaction and records its event there.

import { bindingsGiving } from "#authz";
import type { Read, Write } from "#db";
import { recordLast } from "#outbox";
import { withRows } from "./change.ts";
import type { Cause, Context, Outcome, WriteContext, Writes } from "./context.ts";
import { eventOf } from "./event.ts";

const causeOf = ({ call, method, caller, rights, permitted }: Omit<Context<Read>, "rows">): Cause => ({
  operation: (call.view ?? method).name,
  view: call.view,
  actor: caller && { subject: caller.uid, ...(caller.act ? { act: { ...caller.act } } : {}) },
  bindings: () => [...new Set(permitted.flatMap(({ capabilities, path }) => bindingsGiving(rights, capabilities, path)))],
  origin: call.origin,
  requestId: call.requestId,
});

export const perform = async (answer: Writes, request: Omit<Context<Read>, "rows">, rows: Write): Promise<Outcome> => {
  const context: WriteContext = { ...request, rows, cause: causeOf(request), reportedByCause: [] };
  const outcome = await answer.writes(context);
  const event = outcome.unchanged ? undefined : eventOf(context, context.method, context.request, outcome.reply);
  if (event) recordLast(rows, withRows(event, context), outcome.toldOnly);
  return outcome;
};
