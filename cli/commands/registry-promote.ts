// `gantry registry promote`: copy an image to another repo, with what belongs to it.

import type { Command } from "commander";
import { type JsonObject, text, texts } from "#base/json.ts";
import { methodByName } from "#contract/catalog.ts";
import { addServerOptions, findContext } from "../context.ts";
import { newCommand } from "../command.ts";
import { wrongUsage } from "../exit-status.ts";
import { findOrganizationName, pathIn, readNamedImage } from "../named-image.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly to?: string;
  readonly ifMatch?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly server?: string;
  readonly context?: string;
}

const shown = (reply: JsonObject, target: string, dryRun: boolean): string => {
  const tag = text(reply, "tag");
  const name = tag === "" ? `${target}@${text(reply, "digest")}` : `${target}:${tag}`;
  const count = Number(reply.manifestCount ?? 0);
  const previous = text(reply, "previousDigest");
  const kept = texts(reply, "keptTags").map((each) => `Kept the tag ${each} of the target, which has another digest.\n`);
  return [
    `${dryRun ? "Would promote" : "Promoted"} ${name} (${text(reply, "digest")}): ${count} new ${count === 1 ? "manifest" : "manifests"}.\n`,
    ...(previous === "" ? [] : [`The tag pointed to ${previous} before.\n`]),
    ...kept,
  ].join("");
};

export const promoteCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "promote",
      usage: "SOURCE --to TARGET [--if-match DIGEST] [--dry-run] [--json] [--server URL] [--context NAME]",
      description: `Copy an image to another repo on the server, and point a tag to it: with the images of an index, signatures, SBOMs and other
referrers. SOURCE is REPO:TAG or REPO@DIGEST, TARGET is REPO:TAG; without a tag, TARGET gets the tag of SOURCE.
A repo is a uid, or a path of names from the organization on. Below the organization of the context, you can omit its name.`,
      notes: `Examples:
  gantry registry promote acme/app:rc1 --to acme/prod/app:1.0
  gantry registry promote acme/app:rc1 --to acme/prod/app:stable --if-match sha256:2c26…`,
      wrongArguments: "image required: gantry registry promote REPO:TAG --to REPO:TAG",
    }),
  )
    .summary("Copy an image to another repo, with its referrers")
    .argument("<SOURCE>")
    .option("--to <TARGET>", "Image to write: REPO:TAG (required)")
    .option("--if-match <DIGEST>", "Fail unless the tag of the target points to this digest")
    .option("--dry-run", "Check everything without changing anything")
    .option("--json", "Print the promotion as one line of JSON")
    .action(async (given: string, options: Options) => {
      const [source, target] = [readNamedImage(given), readNamedImage(options.to ?? "")];
      if (source.repo === "" || source.reference === "") throw wrongUsage(`SOURCE must be REPO:TAG or REPO@DIGEST, not ${JSON.stringify(given)}`);
      if (target.repo === "" || target.reference.includes(":")) throw wrongUsage("--to must be REPO:TAG, for example acme/prod/app:1.0");
      const { server, organization, credential } = findContext(terminal, options);
      const { createClient } = await import("#contract-client");
      const method = methodByName("gantry.registry.v1.PromotionsService/PromoteImage");
      if (method === undefined) throw new Error("the contract has no PromoteImage");
      const client = createClient({ server, token: credential.token });
      const name = await findOrganizationName(client, organization);
      const repo = pathIn(name, target.repo);
      const request = {
        repo,
        ...(target.reference === "" ? {} : { tag: target.reference }),
        sourceRepo: pathIn(name, source.repo),
        sourceReference: source.reference,
      };
      const { ifMatch, dryRun = false } = options;
      const reply = await client.call(method, request, {
        ...(ifMatch === undefined ? {} : { ifMatch: `"${ifMatch}"` }),
        ...(dryRun ? { validateOnly: true } : {}),
      });
      terminal.out.write(options.json ? `${JSON.stringify(reply)}\n` : shown(reply, repo, dryRun));
    });
