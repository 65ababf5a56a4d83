// Offers an access token to the console of a server, which asks its user in the browser (server/iam/signin/console-handover.ts).

import { Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { refusalText, requestJson } from "./issuer-client.ts";

const absent: readonly number[] = [404, 405];

/** Returns the code for the page's address; undefined if the server has no console. Throws UNAUTHENTICATED if it refuses the token. */
export const offerToConsole = async (server: string, token: string, stop: AbortSignal): Promise<string | undefined> => {
  const response = await requestJson(`${server}/console/session`, stop, { token, form: new URLSearchParams({ do: "offer" }) });
  if (absent.includes(response.status)) return undefined;
  const code = text(response.body, "code");
  if (response.status !== 200 || code === "") throw new Fault("UNAUTHENTICATED", refusalText(response));
  return code;
};
