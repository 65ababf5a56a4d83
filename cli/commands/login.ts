// `gantry login`: signs a person in, at any server.

import type { Command } from "commander";
import { readPublicUrl } from "#application";
import { Fault } from "#base/fault.ts";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly issuer?: string;
  readonly idp?: string;
  readonly audience?: string;
  readonly browser?: boolean;
  readonly headless?: boolean;
  readonly docker?: boolean;
  readonly dockerHelper?: boolean;
}

export const loginCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "login",
    usage: "[--issuer URL] [--idp ID] [--audience AUDIENCE] [--browser | --headless] [--docker | --docker-helper]",
    description: `Signs you in and keeps the token where the platform's clients look for it: its Go SDK and Terraform provider find
it by themselves. It prints an address and a code; open the address in any browser, on this machine or another,
and confirm the code there. Needs nothing of the server's machine.

With --docker, docker, podman, skopeo, crane, oras, helm and cosign push and pull at that server in your name: the token,
which is good for an hour, is written into docker's config.json and podman's auth.json, and nothing else there is changed.
With --docker-helper these files name docker-credential-gantry instead, which must be on the PATH: it gives them a fresh
token of this sign-in each time, and no token lies there.`,
    notes: `Exit status: 0 signed in, 1 not.

Examples:  gantry login --issuer https://gantry.example.com
           gantry login --issuer https://gantry.example.com --idp example.org --browser
           gantry login --issuer https://gantry.example.com --docker && docker pull gantry.example.com/acme/app
           gantry login --issuer https://gantry.example.com --docker-helper`,
  })
    .option("--issuer <URL>", "the server's address (GANTRY_PUBLIC_URL, or else this machine's own server)")
    .option("--idp <ID>", "the identity provider to sign in with: its uid, or the name of a verified organization")
    .option("--audience <NAME>", "what the token is for (the server itself)")
    .option("--browser", "opens the browser of this machine, which brings the token back by itself")
    .option("--headless", "prints an address only; the token comes back encrypted for this terminal")
    .option("--docker", "signs docker, podman and their like in: writes the token into their files")
    .option("--docker-helper", "the same without a token in their files: they ask docker-credential-gantry")
    .action(async ({ issuer, idp, audience, browser, headless, docker, dockerHelper }: Options) => {
      if (browser && headless) throw new Fault("INVALID_ARGUMENT", "choose one of --browser and --headless");
      if (docker && dockerHelper) throw new Fault("INVALID_ARGUMENT", "choose one of --docker and --docker-helper");
      if (audience !== undefined && (docker || dockerHelper))
        throw new Fault("INVALID_ARGUMENT", "the registry takes tokens for the server itself: leave --audience out");
      const { environment, out, err } = terminal;
      const { signIn } = await import("#login");
      const signedIn = await signIn({
        issuer: issuer ?? readPublicUrl(environment),
        audience,
        idp,
        method: browser ? "browser" : headless ? "headless" : "device",
        registry: docker ? "token" : dockerHelper ? "helper" : undefined,
        environment,
        out,
        err,
      });
      if (!signedIn) terminal.status = 1;
    });
