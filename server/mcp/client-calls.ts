// Tools whose calls go to a server by the client of the API, with the credentials of whoever started this process.

import { codes } from "#base/fault.ts";
import { ApiError, type Client } from "#contract-client";
import { readArguments } from "#contract/read.ts";
import { invalidArguments } from "./refusal.ts";
import type { CallTool } from "./tool-answer.ts";

/** @param explain the error as its reader can do something about it: whence a refused credential came, for example */
export const callsOf =
  (client: Client, explain: (thrown: unknown) => unknown): CallTool =>
  async (method, given, options) => {
    // What has no place in a path or a query is refused as the server would, which never sees it.
    const { problems } = readArguments(method, given);
    const [first, ...others] = problems;
    if (first) return invalidArguments([first, ...others]);
    try {
      const { reply, headers } = await client.answer(method, given, options);
      return { message: reply, headers };
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      const { code, details } = thrown;
      const explained = code === "UNAUTHENTICATED" ? explain(thrown) : thrown;
      return { code, refusal: { code: codes[code], message: explained instanceof Error ? explained.message : thrown.message, details: [...details] } };
    }
  };
