// OSV queries of scanners with a token: public records, and those of groups visible to the caller. Without a token, the open feed has
// the same paths (server/advisories/feeds/osv). Responses depend on the caller, so they have no ETag and must not be cached
// (docs/decisions/0043).

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { answerOsvQuestion, answerOsvQuestions, readQuestion, readQuestions, requireOsvRecord, withdrawalHeaders } from "#advisories/feeds";
import { openReader } from "#advisories/store";
import { type Outcome, type ReadContext, resource } from "#kernel";

const own = (reply: JsonObject, more: Readonly<Record<string, string>> = {}): Outcome => ({
  reply,
  headers: { "cache-control": "private, no-store", vary: "authorization", ...more },
});

const documentOf = (content: string): JsonObject => {
  const read = JSON.parse(content) as Json;
  if (!isObject(read)) throw new Fault("NOT_FOUND", "Bug not found.");
  return read;
};

const query = async ({ request, rows, visiblePaths }: ReadContext): Promise<Outcome> => {
  const question = readQuestion(request);
  return own(documentOf(await answerOsvQuestion(await openReader(rows, visiblePaths), question)));
};

const queryBatch = async ({ request, rows, visiblePaths }: ReadContext): Promise<Outcome> => {
  const questions = readQuestions(request);
  return own(await answerOsvQuestions(await openReader(rows, visiblePaths), questions));
};

const read = async ({ rows, visiblePaths }: ReadContext, id: string): Promise<Outcome> => {
  const record = await requireOsvRecord(await openReader(rows, visiblePaths), id);
  return own(documentOf(record.text), withdrawalHeaders(record));
};

const withoutExtension = (file: string): string => file.slice(0, -".json".length);

export const osv = resource({
  service: "gantry.feeds.v1.OsvService",
  message: "gantry.feeds.v1.QueryOsvRequest",
  methods: {
    QueryOsv: { reads: query },
    QueryOsvBatch: { reads: queryBatch },
    ReadOsvRecord: { reads: (context) => read(context, text(context.request, "id")) },
    ReadOsvFile: { reads: (context) => read(context, withoutExtension(text(context.request, "file"))) },
  },
});
