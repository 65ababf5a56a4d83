// Iterates over pages. Only a response without a page token ends a list; any page may be short or empty.

import { isObject, type JsonObject, objectList, text } from "#base/json.ts";
import type { Answer } from "./answer.ts";
import { ApiError } from "./error.ts";
import { listedField, type OperationShape } from "./operation.ts";

export interface PagesOptions {
  /**
   * A page token is valid for three days; after that, the server returns the first page again. This is called before that page: drop
   * all earlier items. Without it, the iteration throws PAGE_RESTARTED, so that pages of two versions of a list are never mixed.
   */
  readonly onRestart?: () => void;
}

/** Yields all pages from the request on. `ask` calls the operation. */
export async function* pagesOf(
  method: OperationShape,
  request: JsonObject,
  ask: (request: JsonObject) => Promise<Answer>,
  { onRestart }: PagesOptions,
): AsyncGenerator<JsonObject> {
  const [asks, tells] = [method.input.byName.get("page_token"), method.output.byName.get("next_page_token")];
  let asked = request;
  for (;;) {
    const { reply, headers } = await ask(asked);
    if (headers["gantry-page-restarted"] === "true" && asked !== request) {
      if (!onRestart)
        throw new ApiError("ABORTED", "the server restarted the list because it took too long. Pages before the restart are outdated", {
          reason: "PAGE_RESTARTED",
          headers,
        });
      onRestart();
    }
    yield reply;
    const next = asks && tells ? text(reply, tells.json) : "";
    if (!asks || next === "") return;
    if (next === text(asked, asks.json)) throw new ApiError("INTERNAL", "the server returned the same page token again", { headers });
    // `skip` is applied after the cursor (decisions: Lists), so it belongs to the first page only.
    const { skip: _skip, pageToken: _pageToken, page_token: _snake, ...rest } = asked;
    asked = { ...rest, [asks.json]: next };
  }
}

export async function* itemsOf(method: OperationShape, pages: AsyncIterable<JsonObject>): AsyncGenerator<JsonObject> {
  const field = listedField(method);
  if (!field) throw new ApiError("UNIMPLEMENTED", `${method.name} is not a list`);
  for await (const page of pages) for (const item of objectList(page, field.json)) if (isObject(item)) yield item;
}
