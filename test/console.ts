// A world with a console: an identity provider whose users sign in with a browser, and identities of three kinds.

import { join } from "node:path";
import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { type Browser, openChromium, type Page } from "./story/browser.ts";
import { start, stopAll } from "./story/processes.ts";
import { openWorld, type World } from "./world.ts";

const secret = "a client secret that only the two know";

export const callerKinds = ["owner", "viewer", "nobody"] as const;
export type CallerKind = (typeof callerKinds)[number];

export interface ConsoleWorld {
  readonly world: World;
  readonly browser: Browser;
  /** Returns a token of an identity of the organization with this role, or without one. */
  readonly tokenOf: (kind: CallerKind) => Promise<string>;
  /** Signs Ada in, a viewer, through the provider's pages. The page is at the console's sign-in. */
  readonly signIn: (page: Page) => Promise<void>;
  /** Continues with a token instead. */
  readonly pasteToken: (page: Page, token: string) => Promise<void>;
  close(): Promise<void>;
}

export const openConsoleWorld = async (environment: Readonly<Record<string, string>> = {}): Promise<ConsoleWorld> => {
  const world = await openWorld(environment);
  const program = start(join(import.meta.dirname, "story", "provider.ts"), [`${world.url}/oauth/callback`, secret]);
  const [[issuer = ""], browser] = await Promise.all([program.says(/^http:\S+/m), openChromium()]);
  const people = { ada: { name: "Ada Lovelace", email: "ada@example.com", email_verified: true } };
  await fetch(`${issuer}/people`, { method: "PUT", body: JSON.stringify(people) });
  const oidc = { issuer, clientId: "gantry", clientSecret: secret, additionalScopes: ["email", "profile"], pkceEnabled: true };
  const parent = world.organization;
  await world.ok("iam.IdentityProvidersService/CreateIdentityProvider", {
    parent,
    identityProvider: { name: "our people", defaultRole: builtInRoleUid("viewer"), oidc },
  });
  const identities = new Map<CallerKind, string>();
  for (const kind of callerKinds) {
    const identity: JsonObject = { name: `${kind} of tests`, claimMatch: { issuer: "https://issuer.example.com", subject: kind } };
    const identityUid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent, identity }), "uid");
    identities.set(kind, identityUid);
    if (kind !== "nobody") await world.ok("iam.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid: builtInRoleUid(kind) } });
  }
  return {
    world,
    browser,
    tokenOf: (kind) => world.token(identities.get(kind) ?? ""),
    signIn: async (page) => {
      await page.click("button:has-text('Sign in')");
      await page.click("a:has-text('our people')");
      // The provider remembers a user in its own cookies.
      await page.locator("input[name=login], button:visible:has-text('Continue')").first().waitFor();
      if ((await page.locator("input[name=login]").count()) > 0) {
        await page.fill("input[name=login]", "ada");
        await page.fill("input[name=password]", "any");
        await page.click("button[type=submit]");
      }
      await page.click("button:visible:has-text('Continue')");
      await page.locator(".shell").waitFor();
    },
    pasteToken: async (page, token) => {
      await page.click("summary:has-text('Use an access token')");
      await page.fill("#token", token);
      await page.click("form button");
      await page.locator(".shell").waitFor();
    },
    async close() {
      await browser.close();
      await world.close();
      program.child.stdin?.end();
      await stopAll();
    },
  };
};
