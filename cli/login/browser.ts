// Sign-in through this machine's browser, which is redirected to a loopback port with the tokens (RFC 8252 §7.3).

import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault } from "#base/fault.ts";
import { layoutPage, pageStyle, paragraphsHtml } from "#base/html.ts";
import { limits } from "#base/limits.ts";
import { openInBrowser } from "./open-browser.ts";
import { startCountdown } from "./countdown.ts";
import { printable } from "./issuer-client.ts";
import type { MethodOptions, Tokens } from "./method.ts";
import { fetchPerson } from "./person.ts";

/** Uses the server's layout (base/html.ts). */
const respondWithPage = (response: ServerResponse, status: number, title: string, paragraphs: readonly string[]): void => {
  response
    .writeHead(status, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(pageStyle).digest("base64")}'; frame-ancestors 'none'`,
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      connection: "close",
    })
    .end(layoutPage(title, paragraphsHtml(paragraphs)));
};

/** Waits for a redirect with this state; requests that only guess the port are refused. */
const receiveTokens = (server: Server, state: string, describe: (token: string) => Promise<string>): Promise<Tokens> =>
  new Promise((resolve, reject) => {
    let finish: (() => void) | undefined;
    let person = Promise.resolve("");
    server.on("request", (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
      if (pathname === "/done") {
        response.once("finish", () => finish?.());
        // The page does not wait for a slow server.
        void Promise.race([person, sleep(limits.signInLastPageMs / 2, "", { ref: false })]).then((name) =>
          respondWithPage(response, 200, "You are signed in", [...(name === "" ? [] : [`As ${name}.`]), "You can close this page and return to the terminal."]),
        );
      } else if (pathname !== "/callback" || searchParams.get("state") !== state)
        respondWithPage(response, 404, "Not found", ["No sign-in is waiting at this address."]);
      else if (!searchParams.get("token")) {
        respondWithPage(response, 400, "Sign-in failed", ["See the terminal for the reason. You can close this page."]);
        response.once("finish", () => reject(new Fault("PERMISSION_DENIED", `sign-in failed: ${printable(searchParams.get("error") || "no reason given")}`)));
      } else {
        const tokens: Tokens = { access: searchParams.get("token") ?? "", refresh: searchParams.get("refresh_token") || undefined };
        finish = () => resolve(tokens);
        person = describe(tokens.access).catch(() => "");
        // Removes the tokens from the address bar and history; a browser that does not follow does not block.
        response.writeHead(303, { location: "/done", "cache-control": "no-store", "referrer-policy": "no-referrer" }).end();
        setTimeout(finish, limits.signInLastPageMs).unref();
      }
    });
  });

export const signInByBrowser = async ({ issuer, audience, idp, invite, err, stop }: MethodOptions): Promise<Tokens> => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const state = randomBytes(32).toString("base64url");
  const redirect = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback?state=${state}`;
  const query = new URLSearchParams({ exit: "redirect", redirect, audience, create_refresh_token: "true" });
  if (idp !== undefined) query.set("idp_id", idp);
  if (invite !== undefined) query.set("invite", invite);
  const address = `${issuer.signInAddress}?${query}`;
  err.write(`Opening this address in your browser, to sign in to ${issuer.url}:\n\n    ${address}\n\n`);
  openInBrowser(address);
  const countdown = startCountdown(err, limits.deviceCodeLifetimeMs);
  const timeout = sleep(limits.deviceCodeLifetimeMs, undefined, { signal: stop, ref: false }).then((): never => {
    throw new Fault("DEADLINE_EXCEEDED", "the sign-in timed out. Run gantry login again");
  });
  try {
    return await Promise.race([receiveTokens(server, state, (token) => fetchPerson(issuer, token, stop)), timeout]);
  } finally {
    countdown.end();
    server.close();
    server.closeAllConnections();
  }
};
