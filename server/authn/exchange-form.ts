// RFC 8693 form of the token exchange at POST /oauth/token. Extensions: `identity`, the identity to assume, and `cap`; `scope` holds
// group UIDs, as in /sts/exchange.

import { invalid, type Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { Clock } from "#base/time.ts";
import type { Exchanged, ExchangeRequest } from "./exchange.ts";

export const tokenExchangeGrantType = "urn:ietf:params:oauth:grant-type:token-exchange";
const accessToken = "urn:ietf:params:oauth:token-type:access_token";
const idToken = "urn:ietf:params:oauth:token-type:id_token";
const jwt = "urn:ietf:params:oauth:token-type:jwt";
// All tokens are signed JWTs, which clients may call by any of these names.
const tokenTypes = [accessToken, idToken, jwt];

const singleParameters = ["grant_type", "subject_token", "subject_token_type", "requested_token_type", "identity", "actor_token", "actor_token_type"];

/** Handles the form; returns the response and the token's subject. `exchange` gets the subject token as if it were in the header. */
export const exchangeForm = async (
  form: URLSearchParams,
  authorization: string | undefined,
  clock: Clock,
  exchange: (request: ExchangeRequest) => Promise<Exchanged>,
): Promise<{ readonly answer: JsonObject; readonly exchanged: Exchanged }> => {
  const violations: Violation[] = [];
  const wrong = (field: string, description: string): void => void violations.push({ field, description });
  const value = (name: string): string => form.get(name) ?? "";
  const list = (name: string): string[] =>
    form
      .getAll(name)
      .flatMap((entry) => entry.split(" "))
      .filter((entry) => entry !== "");

  for (const name of singleParameters) if (form.getAll(name).length > 1) wrong(name, "must be given once"); // RFC 6749 §3.2
  if (value("grant_type") !== tokenExchangeGrantType) wrong("grant_type", `must be ${tokenExchangeGrantType}`);
  // Some libraries omit it.
  if (value("subject_token_type") !== "" && !tokenTypes.includes(value("subject_token_type")))
    wrong("subject_token_type", `must be one of ${tokenTypes.join(", ")}`);
  const requested = value("requested_token_type") || accessToken;
  if (!tokenTypes.includes(requested)) wrong("requested_token_type", `must be one of ${tokenTypes.join(", ")}`);
  if (form.has("actor_token") || form.has("actor_token_type")) wrong("actor_token", "delegation is not supported");
  if (value("subject_token") === "" && authorization === undefined) wrong("subject_token", "is required");
  if (violations.length > 0) throw invalid(violations);

  const exchanged = await exchange({
    authorization: value("subject_token") === "" ? authorization : `Bearer ${value("subject_token")}`,
    // RFC 8693 §2.1: a target is an audience, or a URL as resource.
    audience: [...form.getAll("audience"), ...form.getAll("resource")],
    identity: value("identity"),
    capabilities: list("cap"),
    scopes: list("scope"),
  });
  const answer = {
    access_token: exchanged.token,
    issued_token_type: requested,
    token_type: "Bearer",
    expires_in: Math.max(Math.floor((exchanged.expireTimeMs - clock()) / 1000), 0),
  };
  return { answer, exchanged };
};
