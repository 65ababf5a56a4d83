// docker-credential-gantry, the credential helper for docker, podman and similar tools (cli/login/credential-helper.ts).

import { text } from "node:stream/consumers";
import { version } from "#application";
import { answerCredentialRequest } from "#login";

const usage = `Usage: docker-credential-gantry <store|get|erase|list|version>

Credential helper for docker, podman and similar tools. gantry login --docker-helper configures it for a server, in
docker's config.json and podman's auth.json. It returns the token of that sign-in, and renews it before it expires.
`;

const main = async (args: readonly string[]): Promise<number> => {
  const [action = ""] = args;
  if (["--version", "-v", "version"].includes(action)) {
    process.stdout.write(`docker-credential-gantry ${version}\n`);
    return 0;
  }
  if (args.length !== 1 || ["--help", "-h"].includes(action)) {
    process.stdout.write(usage);
    return args.length === 1 ? 0 : 1;
  }
  // `list` may leave standard input open.
  const input = action === "list" ? "" : await text(process.stdin);
  const { status, out, err } = await answerCredentialRequest({ action, input, environment: process.env });
  process.stderr.write(err);
  process.stdout.write(out);
  return status;
};

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  // Clients show standard output.
  process.stdout.write(`docker-credential-gantry: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = 1;
}
