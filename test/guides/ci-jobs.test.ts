// Runs the CI guides: each service's job logs in with the page's commands, and no other job does. The AWS page's program signs requests that
// AWS accepts. Shared errors and log messages about private issuers match the server's.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { parse } from "yaml";
import { builtInRoleUid } from "#authz";
import { isObject, type Json, type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import type { Log } from "#base/log.ts";
import { makeAuthority, readCertificateFiles, signCertificate } from "../certificates.ts";
import { startSts } from "../story/aws-sts.ts";
import { type Issuer, startIssuer } from "../story/processes.ts";
import { setSuspended } from "../../server/application/organization.ts";
import { freePort } from "../free-port.ts";
import { openWorld, type World } from "../world.ts";
import { blocksOf, jobSectionsOf, readGuide, shownPattern } from "./page.ts";
import { missingPrograms, runLines } from "./shell.ts";
import { makeReaderHome } from "./walk.ts";

const missing = missingPrograms(["bash", "curl", "jq"]);
const skip = missing.length === 0 ? false : `NOT TESTED: ${missing.join(", ")} not installed`;

let world: World;
let issuer: Issuer;
let folder: string;
let host: string;

// Stands in for docker and skopeo: logs in through the registry's token endpoint as they do, and then pushes.
const registryClient = `#!/bin/bash -e
case $1 in
login)
  [ "$3" = --username ] && [ "$5" = --password-stdin ]
  curl -sSf -o /dev/null -u "$4:$(cat)" "http://$2/v2/token?service=$2"
  touch "$HOME/signed-in"
  ;;
build) ;;
*) [ -f "$HOME/signed-in" ] ;;
esac
`;

before(async () => {
  [world, issuer, folder] = await Promise.all([openWorld(), startIssuer(), mkdtemp(join(tmpdir(), "gantry-ci-jobs-"))]);
  host = new URL(world.url).host;
  for (const name of ["docker", "skopeo"]) await writeFile(join(folder, name), registryClient, { mode: 0o755 });
});
after(async () => {
  await Promise.all([world?.close(), issuer?.close()]);
  if (folder) await rm(folder, { recursive: true, force: true });
});

const blockOf = async (page: string, kind: string, word: string): Promise<string> => {
  const found = blocksOf(await readGuide(`ci-identities/${page}.md`)).find((block) => block.kind === kind && block.content.includes(word));
  assert.ok(found, `${page} has no such block`);
  return found.content;
};

const readYaml = async (page: string, word: string): Promise<JsonObject> => {
  const value = parse(await blockOf(page, "yaml", word)) as Json;
  assert.ok(isObject(value));
  return value;
};

interface Job {
  readonly lines: string;
  /** Sets the service's variables and its additional programs. */
  prepare(t: TestContext, token: (audience: string) => Promise<string>): Promise<Readonly<Record<string, string>>>;
}

const jobs: Readonly<Record<string, () => Promise<Job>>> = {
  "github-actions": async () => {
    const { push } = part(await readYaml("github-actions", "permissions"), "jobs");
    const step = isObject(push) ? objectList(push, "steps").find(({ run }) => String(run).includes("docker login")) : undefined;
    return {
      lines: text(step ?? {}, "run"),
      prepare: async (t, token) => {
        const service = createHttpServer((request, response) => {
          const { searchParams } = new URL(request.url ?? "", "http://127.0.0.1");
          if (request.headers.authorization !== "Bearer of-the-job") return void response.writeHead(401).end();
          void token(searchParams.get("audience") ?? "").then((value) => response.end(JSON.stringify({ count: 1, value })));
        });
        const port = await freePort();
        await new Promise<void>((done) => service.listen(port, "127.0.0.1", done));
        t.after(() => service.close());
        return { ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of-the-job", ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0` };
      },
    };
  },
  "gitlab-ci": async () => {
    const job = part(await readYaml("gitlab-ci", "id_tokens"), "push");
    const asked = part(part(job, "id_tokens"), "GANTRY_IDENTITY_TOKEN");
    return { lines: texts(job, "script").join("\n"), prepare: async (_, token) => ({ GANTRY_IDENTITY_TOKEN: await token(audienceHere(text(asked, "aud"))) }) };
  },
  kubernetes: async () => {
    const spec = part(await readYaml("kubernetes", "kind: Pod"), "spec");
    const [container = {}] = objectList(spec, "containers");
    const [volume = {}] = objectList(spec, "volumes");
    const [source = {}] = objectList(part(volume, "projected"), "sources");
    const projected = part(source, "serviceAccountToken");
    const [mount = {}] = objectList(container, "volumeMounts");
    const file = join(folder, "token");
    return {
      lines: texts(container, "args")
        .join("\n")
        .replaceAll(`${text(mount, "mountPath")}/${text(projected, "path")}`, file),
      prepare: async (_, token) => {
        await writeFile(file, await token(audienceHere(text(projected, "audience"))));
        return {};
      },
    };
  },
  jenkins: async () => {
    const [, lines = ""] = /sh '''\n([\s\S]*?)'''/.exec(await blockOf("jenkins", "groovy", "withCredentials")) ?? [];
    return { lines, prepare: async (_, token) => ({ ID_TOKEN: await token(host) }) };
  },
  buildkite: async () => {
    const [step = {}] = objectList(await readYaml("buildkite", "steps:"), "steps");
    return {
      // Unescaped, as the upload of a pipeline leaves it.
      lines: text(step, "command").replaceAll("$$", "$"),
      prepare: async (_, token) => {
        const wanted = `oidc request-token --audience ${host} --subject-claim pipeline_id --claim organization_id`;
        const agent = `#!/bin/sh\n[ "$*" = "${wanted}" ] || exit 1\nprintf %s "$TOKEN_OF_THE_JOB"\n`;
        await writeFile(join(folder, "buildkite-agent"), agent, { mode: 0o755 });
        return { TOKEN_OF_THE_JOB: await token(host) };
      },
    };
  },
};

const audienceHere = (documented: string): string => documented.replace("gantry.example.com", host);

const makeIdentity = async (create: string, documented: string): Promise<string> => {
  const [, body = "{}"] = /-d '(\{[\s\S]*?\n\})'/.exec(create) ?? [];
  const identity = JSON.parse(body.replaceAll(`"${documented}"`, `"${issuer.url}"`)) as JsonObject;
  return text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
};

for (const [page, readJob] of Object.entries(jobs))
  test(`the job of page ${page} logs in and pushes with its commands, and another job with the same commands does not`, { skip }, async (t) => {
    const [section] = jobSectionsOf(await readGuide(`ci-identities/${page}.md`));
    assert.ok(section);
    const identity = await makeIdentity(section.create, text(section.token, "iss"));
    const { lines, prepare } = await readJob();
    assert.match(lines, /login gantry\.example\.com/);
    const runAs = async (other: JsonObject): Promise<string> => {
      const home = await mkdtemp(join(folder, "home-"));
      const env = await prepare(t, (aud) => issuer.token({ ...section.token, ...other, iss: issuer.url, aud }));
      const path = `${folder}${delimiter}${process.env.PATH ?? ""}`;
      const done = await runLines(lines.replaceAll("gantry.example.com", host), { ...env, PATH: path, HOME: home, GANTRY_IDENTITY: identity }, folder);
      return done.code === 0 ? "pushed" : done.stderr;
    };
    assert.equal(await runAs({}), "pushed");
    const [first] = section.refusals;
    assert.match(await runAs(first?.claims ?? {}), /curl: \(22\).*(?:401|403)/);
  });

test("exchanging a job's token by curl and by the command line gives its identity's permissions", { skip }, async () => {
  const [exchange, login] = blocksOf(await readGuide("ci-identities.md"))
    .filter(({ kind, content }) => kind === "sh" && content.includes("$GANTRY_IDENTITY"))
    .map(({ content }) => content);
  const identity = { name: "job", claimMatch: { issuer: issuer.url, subject: "job" } };
  const uid = text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
  await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: world.organization,
    roleBinding: { identityUid: uid, roleUid: builtInRoleUid("viewer") },
  });
  await world.ok("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "seen-by-the-job" } });
  const home = await makeReaderHome();
  try {
    const path = [join(home, "bin"), process.env.PATH ?? ""].join(delimiter);
    const environment = { PATH: path, HOME: home, BASE: world.url, GANTRY_IDENTITY: uid, ID_TOKEN: await issuer.token({ sub: "job", aud: world.url }) };
    const exchanged = await runLines(exchange ?? "", environment);
    assert.equal((JSON.parse(Buffer.from(exchanged.stdout.split(".")[1] ?? "", "base64url").toString()) as JsonObject)["sub"], uid, exchanged.stderr);
    const listed = await runLines(login ?? "", environment);
    assert.match(listed.stdout, /^seen-by-the-job$/m, listed.stderr);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});

/** Returns the explained errors: code in the first column of the page's tables. */
const explainedAnswers = (markdown: string): string[] => [...markdown.matchAll(/^\| `([^`]+)` \| /gm)].map(([, answer = ""]) => answer);

test("the errors that every page shares match the server's, and each is explained", { skip }, async (t) => {
  const stranger = await startIssuer();
  const silent = `http://127.0.0.1:${await freePort()}`;
  t.after(() => stranger.close());
  const make = async (issuerUrl: string, more: JsonObject = {}): Promise<string> => {
    const identity = { name: "job", claimMatch: { issuer: issuerUrl, subject: "job" }, ...more };
    return text(await world.ok("iam.IdentitiesService/CreateIdentity", { parent: world.organization, identity }), "uid");
  };
  const [identity, unreachable, ending] = [await make(issuer.url), await make(silent), await make(issuer.url, { expireTime: "2999-01-01T00:00:00Z" })];
  const claims = { sub: "job", aud: world.url };
  const seconds = Math.floor(Date.now() / 1000);
  const exchange = async (uid: string, token: string | undefined): Promise<string> =>
    (await world.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity: uid }, token === undefined ? { token: undefined } : { token }))
      .message;
  const good = await issuer.token(claims);
  const [header = "", payload = "", signature = ""] = good.split(".");
  const otherKey = [Buffer.from(JSON.stringify({ alg: "ES256", kid: "other-key" })).toString("base64url"), payload, signature].join(".");
  const forged = await stranger.token({ ...claims, iss: issuer.url });
  const said: string[] = [
    await exchange(identity, undefined),
    await exchange(identity, "not-a-token"),
    await exchange(identity, await issuer.token({ ...claims, exp: seconds - 600 })),
    await exchange(identity, await issuer.token({ ...claims, nbf: seconds + 600 })),
    await exchange(identity, await stranger.token({ ...claims })),
    await exchange(identity, otherKey),
    await exchange(identity, [header, payload, forged.split(".")[2]].join(".")),
    await exchange(unreachable, await stranger.token({ ...claims, iss: silent })),
  ];
  // It has no permissions yet.
  const exchanged = await world.ok("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity }, { token: await issuer.token(claims) });
  said.push(
    (await world.call("registry.ReposService/CreateRepo", { parent: world.organization, repo: { name: "app" } }, { token: text(exchanged, "token") })).message,
  );
  world.clock.now = Date.parse("2999-01-02T00:00:00Z");
  const then = Math.floor(world.clock.now / 1000);
  said.push(await exchange(ending, await issuer.token({ ...claims, iat: then, exp: then + 600 })));
  await setSuspended(world.server.application, world.organization, true);
  said.push(await exchange(identity, await issuer.token({ ...claims, iat: then, exp: then + 600 })));

  const places: [string, string][] = [
    [stranger.url, "https://ci.example.com"],
    [silent, "https://ci.example.com"],
    ["2999-01-01", "2026-01-01"],
  ];
  const inTheWordsOfThePage = (words: string): string => places.reduce((all, [here, there]) => all.replaceAll(here, there), words);
  const explained = explainedAnswers(await readGuide("ci-identities.md"));
  assert.deepEqual(said.map(inTheWordsOfThePage).toSorted(), explained.toSorted());
});

test("the AWS page's program is accepted by AWS; another role or account, a recreated role and a second use are refused", {
  skip: skip || (missingPrograms(["python3"]).length > 0 && "NOT TESTED: python3 not installed"),
}, async (t) => {
  const session = { secret: "anotherSecretKeyOfAnExample", session: "FwoGZXIvYXdzEXAMPLE//////////TOKEN==" };
  const deployer = {
    ...session,
    id: "ASIAIOSFODNN7EXAMPLE",
    account: "123456789012",
    arn: role("123456789012", "deployer"),
    userId: "AROAEXAMPLEDEPLOYER:i-1",
  };
  const principals = {
    deployer,
    other: { ...deployer, id: "ASIAOTHERROLEEXAMPLE", arn: role("123456789012", "other"), userId: "AROAEXAMPLEOTHER:i-1" },
    elsewhere: { ...deployer, id: "ASIAELSEWHEREEXAMPLE", account: "210987654321", arn: role("210987654321", "deployer") },
    anew: { ...deployer, id: "ASIAMADEANEWXEXAMPLE", userId: "AROAANOTHERDEPLOYER:i-1" },
  };
  const sts = await startSts(Object.values(principals));
  const inAws = await openWorld({ GANTRY_AWS_STS_URL: sts.url });
  const home = await makeReaderHome(t);
  t.after(() => Promise.all([sts.close(), inAws.close()]));
  const here = new URL(inAws.url).host;

  const create = await blockOf("aws", "sh", '"awsIdentity"');
  const [, body = ""] = /-d '(\{[\s\S]*?\n\})'/.exec(create) ?? [];
  const identity = JSON.parse(body) as JsonObject;
  const uid = text(await inAws.ok("iam.IdentitiesService/CreateIdentity", { parent: inAws.organization, identity }), "uid");
  await inAws.ok("iam.RoleBindingsService/CreateRoleBinding", {
    parent: inAws.organization,
    roleBinding: { identityUid: uid, roleUid: builtInRoleUid("registry.push") },
  });
  await writeFile(join(folder, "aws-token.py"), await blockOf("aws", "python", "GetCallerIdentity"));
  const credentials = ({ id, secret, session: token }: typeof deployer): string =>
    `export AWS_ACCESS_KEY_ID=${id}\nexport AWS_SECRET_ACCESS_KEY=${secret}\nexport AWS_SESSION_TOKEN=${token}\n`;
  const run = async (principal: typeof deployer, lines: string, as = uid) => {
    await writeFile(join(folder, "aws"), `#!/bin/sh\n[ "$*" = "configure export-credentials --format env" ] && printf '${credentials(principal)}'\n`, {
      mode: 0o755,
    });
    const local = lines.replaceAll("https://gantry.example.com", inAws.url).replaceAll("gantry.example.com", here);
    const path = `${folder}${delimiter}${process.env.PATH ?? ""}`;
    return runLines(local, { PATH: path, HOME: await mkdtemp(join(folder, "home-")), GANTRY_IDENTITY: as }, folder);
  };
  const lines = await blockOf("aws", "sh", "export-credentials");
  const done = await run(deployer, lines);
  assert.equal(done.code, 0, done.stderr);
  assert.equal((await run(principals.other, lines)).code, 22);

  // The command's identity accepts the same role, and neither of the others.
  const byCommand = await runLines(`GROUP=${inAws.organization}\n${await blockOf("aws", "sh", "--aws-role")}\nprintf %s "$IDENTITY"`, {
    PATH: [join(home, "bin"), process.env.PATH ?? ""].join(delimiter),
    HOME: home,
    GANTRY_SERVER: inAws.url,
    GANTRY_TOKEN: await inAws.token(),
  });
  for (const [principal, code] of [
    [deployer, 0],
    [principals.other, 22],
    [principals.elsewhere, 22],
    [principals.anew, 22],
  ] as const)
    assert.equal((await run(principal, lines, byCommand.stdout)).code, code, `${principal.arn} ${byCommand.stderr}`);

  const sign = async (principal: typeof deployer, server = "https://gantry.example.com", by = "$GANTRY_IDENTITY"): Promise<string> =>
    (await run(principal, `eval "$(aws configure export-credentials --format env)"\npython3 aws-token.py "${server}" "${by}"`)).stdout.trim();
  const exchange = async (token: string, as = uid): Promise<string> =>
    (await inAws.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity: as }, { token })).message;
  const stranger = { ...deployer, secret: "wrong" };
  // Two requests within one second have the same signature, unless they are for another name of the server.
  const used = await sign(deployer, here);
  assert.equal(await exchange(used), "");
  const said: string[] = [];
  for (const token of [await sign(principals.other), await sign(principals.elsewhere), await sign(principals.anew)]) said.push(await exchange(token));
  const another = `${inAws.organization}/0123456789abcdef`;
  said.push(await exchange(await sign(deployer, undefined, another)), await exchange(await sign(deployer, undefined, another), another));
  said.push(await exchange(await sign(deployer, "https://other.example.com")), await exchange(await sign(stranger)), await exchange(used));
  const early = await sign(deployer, new URL(inAws.url).hostname);
  const unanswered = await sign(deployer, `${inAws.url}/`);
  sts.close();
  said.push(await exchange(unanswered));
  inAws.clock.now += 3_600_000;
  said.push(await exchange(early));

  const inTheWordsOfThePage = (words: string): string =>
    words.replaceAll(inAws.url, "https://gantry.example.com").replaceAll(here, "gantry.example.com").replaceAll(', "127.0.0.1"', "");
  const explained = explainedAnswers(await readGuide("ci-identities/aws.md")).filter((answer) => !answer.startsWith("arn:") && !answer.startsWith("AROA"));
  for (const words of said.map(inTheWordsOfThePage))
    assert.ok(
      explained.some((answer) => shownPattern(answer).test(words)),
      `${words} is not explained`,
    );
  for (const answer of explained)
    assert.ok(
      said.some((words) => shownPattern(answer).test(inTheWordsOfThePage(words))),
      `nothing says ${answer}`,
    );
});

const role = (account: string, name: string): string => `arn:aws:sts::${account}:assumed-role/${name}/i-1`;

test("the two settings admit an issuer on a private network, and the page explains the log messages without them", {
  skip,
}, async (t) => {
  const authority = makeAuthority(folder, "authority");
  const wrongName = await readCertificateFiles(signCertificate(folder, "wrong-name", authority, "DNS:other.corp.example"));
  const ended = await readCertificateFiles(signCertificate(folder, "ended", authority, "DNS:localhost", { ended: true }));
  const right = await readCertificateFiles(signCertificate(folder, "right", authority, "DNS:localhost"));
  const [certificate = ""] = right.cert.split(/(?<=-----END CERTIFICATE-----\n)/);
  const incomplete = { ...right, cert: certificate };
  const [port, closed] = [await freePort(), await freePort()];
  const origin = `https://localhost:${port}`;
  const keys = await (await fetch(`${issuer.url}/keys`)).text();
  const server = createServer(right, (request, response) => {
    response.setHeader("connection", "close");
    const [, path = "", rest = ""] = /^\/(\w+)\/(.*)$/.exec(request.url ?? "") ?? [];
    if (path === "elsewhere") response.writeHead(404).end();
    else if (rest === "keys") response.end(keys);
    else response.end(JSON.stringify({ issuer: `${origin}/${path}${path === "other" ? "/" : ""}`, jwks_uri: `${origin}/${path}/keys` }));
  });
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  const said = new Set<string>();
  const innermost = (thrown: unknown): string =>
    thrown instanceof Error && thrown.cause instanceof Error ? innermost(thrown.cause) : (thrown as Error).message;
  const log: Log = (event, fields = {}) => void (event === "authn.issuer.failed" && said.add(innermost(fields["cause"])));
  const [ca, allow] = [{ GANTRY_CA_FILE: authority.certificateFile }, { GANTRY_EGRESS_ALLOW: `issuer=127.0.0.1/32:${port},issuer=127.0.0.1/32:${closed}` }];
  const [both, noAuthority, noAddress] = await Promise.all([
    openWorld({ ...allow, ...ca }, log),
    openWorld(allow, log),
    openWorld({ ...ca, GANTRY_EGRESS_ALLOW: "" }, log),
  ]);
  t.after(() => Promise.all([both.close(), noAuthority.close(), noAddress.close(), server.close()]));

  /** Returns the response to a job's exchange; advances the clock so that no earlier failure is cached. */
  const tryJob = async (at: World, named: string): Promise<string> => {
    at.clock.now += 600_000;
    const identity = { name: "private", claimMatch: { issuer: named, subject: "job" } };
    const uid = text(await at.ok("iam.IdentitiesService/CreateIdentity", { parent: at.organization, identity }), "uid");
    const seconds = Math.floor(at.clock.now / 1000);
    const token = await issuer.token({ iss: named, sub: "job", aud: at.url, iat: seconds, exp: seconds + 600 });
    return (await at.call("chainguard.platform.oidc.SecurityTokenService/Exchange", { identity: uid }, { token })).message;
  };
  assert.equal(await tryJob(both, `${origin}/oidc`), "");
  assert.equal(said.size, 0);
  const refused: string[] = [await tryJob(noAuthority, `${origin}/oidc`), await tryJob(noAddress, `${origin}/oidc`)];
  for (const named of ["https://jenkins.invalid/oidc", `${origin}/elsewhere`, `${origin}/other`, `https://127.0.0.1:${closed}`])
    refused.push(await tryJob(both, named));
  for (const [path, files] of Object.entries({ wrongName, ended, incomplete })) {
    server.setSecureContext(files);
    refused.push(await tryJob(files === incomplete ? noAuthority : both, `${origin}/${path}`));
  }

  const page = await readGuide("ci-identities/private-authorities.md");
  const [, shown = ""] = /^`(the keys of issuer .*)`$/m.exec(page) ?? [];
  for (const answer of refused) assert.equal(answer.replace(/issuer "[^"]*"/, 'issuer "https://jenkins.corp.example/oidc"'), shown);
  const explained = explainedAnswers(page).filter((line) => !line.startsWith("GANTRY_"));
  const inTheWordsOfThePage = (words: string): string =>
    words
      .replace(/https:\/\/localhost:\d+\/\w+/, "https://jenkins.corp.example/oidc")
      .replace(`:${closed}`, ":443")
      .replace("jenkins.invalid", "jenkins.corp.example");
  const logged = [...said].map(inTheWordsOfThePage);
  for (const words of logged)
    assert.ok(
      explained.some((line) => shownPattern(line).test(words)),
      `${words} is not explained`,
    );
  for (const line of explained)
    assert.ok(
      logged.some((words) => shownPattern(line).test(words)),
      `nothing says ${line}`,
    );
});
