// Tools that call a server through the API client, with the credentials of this process.

import { codes } from "#base/fault.ts";
import { ApiError, type Client } from "#contract-client";
import { readArguments } from "#contract/read.ts";
import { invalidArguments } from "./refusal.ts";
import type { CallTool } from "./tool-answer.ts";

/** @param explain turns an error into one with a remedy, such as the source of a refused credential */
export const callsOf =
  (client: Client, explain: (thrown: unknown) => unknown): CallTool =>
  async (method, given, options) => {
    // Refuses arguments that fit neither path nor query, as the server would.
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
