// Requests registry tokens as clients do: with scopes, or those of a challenge.

import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { type JsonObject, text } from "#base/json.ts";
import { basic } from "./registry.ts";

/** The permissions of one entry of a token. */
export interface TokenAccess {
  readonly repo?: string;
  readonly path?: string;
  readonly group?: string;
  readonly actions: readonly string[];
}

/** Requests a token with the access token as password; "" for an anonymous one. */
export const askRegistryToken = (url: string, password: string, scopes: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Response> => {
  const parameters = new URLSearchParams({ service: new URL(url).host, ...more });
  for (const scope of scopes) parameters.append("scope", scope);
  return fetch(`${url}/v2/token?${parameters}`, { headers: password === "" ? {} : { authorization: basic("_token", password) } });
};

export const registryToken = async (url: string, password: string, ...scopes: readonly string[]): Promise<string> => {
  const answer = await askRegistryToken(url, password, scopes);
  assert.equal(answer.status, 200, await answer.clone().text());
  return text((await answer.json()) as JsonObject, "token");
};

export const accessIn = (token: string): readonly TokenAccess[] => decodeJwt(token).gantry_access as readonly TokenAccess[];

export const challengeIn = (response: Response): Readonly<Record<string, string>> =>
  Object.fromEntries([...(response.headers.get("www-authenticate") ?? "").matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]));
