// An independent event receiver: it knows CloudEvents (the `cloudevents` package), signed tokens (`jose`), and the server's public address.

import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { CloudEvent, HTTP } from "cloudevents";
import { createRemoteJWKSet, jwtVerify, type JWTVerifyGetKey } from "jose";
import type { JsonObject } from "#base/json.ts";

export interface Accepted {
  readonly event: CloudEvent<JsonObject>;
  readonly headers: IncomingHttpHeaders;
}

export interface Receiver {
  readonly url: string;
  readonly accepted: Accepted[];
  readonly refused: string[];
  close(): Promise<void>;
}

export const readEvent = (headers: IncomingHttpHeaders, body: string): CloudEvent<JsonObject> => {
  const event = HTTP.toEvent<JsonObject>({ headers: { ...headers }, body });
  if (Array.isArray(event)) throw new Error("a batch");
  return new CloudEvent<JsonObject>(event);
};

export interface Expecting {
  /** The server's public address. */
  readonly issuer: string;
  readonly group: string;
  readonly now: () => Date;
}

/** Returns status and reason as in events: 6: 400 no event, 401 no token, 403 wrong token or body, 200. */
const judge = async (
  { issuer, group, now }: Expecting,
  keys: JWTVerifyGetKey,
  headers: IncomingHttpHeaders,
  body: string,
): Promise<{ status: number; event?: CloudEvent<JsonObject>; why?: string }> => {
  let event: CloudEvent<JsonObject>;
  try {
    event = readEvent(headers, body);
    event.validate();
  } catch (error) {
    return { status: 400, why: String(error) };
  }
  const token = /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1];
  if (token === undefined) return { status: 401, why: "authentication required" };
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: "customer",
      subject: `webhook:${group}`,
      currentDate: now(),
      requiredClaims: ["exp", "iat"],
    });
    const { digest } = payload.webhook as { readonly digest?: unknown };
    if (digest !== `sha256:${createHash("sha256").update(body).digest("hex")}`) return { status: 403, why: "other bytes" };
  } catch (error) {
    return { status: 403, why: String(error) };
  }
  return { status: 200, event };
};

export const openReceiver = async (expecting: Expecting): Promise<Receiver> => {
  const discovery = (await (await fetch(`${expecting.issuer}/.well-known/openid-configuration`)).json()) as { readonly jwks_uri: string };
  const keys = createRemoteJWKSet(new URL(discovery.jwks_uri));
  const accepted: Accepted[] = [];
  const refused: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => {
        void judge(expecting, keys, request.headers, Buffer.concat(chunks).toString()).then(({ status, event, why }) => {
          if (event) accepted.push({ event, headers: request.headers });
          else refused.push(`${status}: ${why}`);
          response.writeHead(status).end();
        });
      });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    accepted,
    refused,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
