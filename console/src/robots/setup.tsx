// How a machine uses its identity: the lines for its CI system. The guides explain them.

import type { ReactNode } from "react";
import type { Identity } from "../../../client/package.ts";
import { shellWord } from "../format.ts";
import { Command } from "../parts.tsx";
import { texts } from "../texts/robots.ts";
import { kindOf, type RobotKind } from "./describe.ts";

const guides: Readonly<Record<RobotKind, string>> = {
  github: "ci-identities/github-actions",
  gitlab: "ci-identities/gitlab-ci",
  kubernetes: "ci-identities/kubernetes",
  jenkins: "ci-identities/jenkins",
  buildkite: "ci-identities/buildkite",
  awsRole: "ci-identities/aws",
  other: "ci-identities",
  keys: "ci-identities",
  pullToken: "registry",
};

const loginWith = (uid: string, host: string): string => `docker login ${host} --username ${uid} --password-stdin`;

/** The lines of each system that log in to the registry. The password is the job's token. */
const linesOf: Readonly<Record<RobotKind, (uid: string, host: string) => string>> = {
  github: (uid, host) => `permissions: { contents: read, id-token: write }
jobs:
  push:
    runs-on: ubuntu-latest
    steps:
      - run: |
          curl -sSf -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${host}" |
            jq -r .value | ${loginWith(uid, host)}`,
  gitlab: (uid, host) => `push:
  id_tokens: { ID_TOKEN: { aud: ${host} } }
  script:
    - printf %s "$ID_TOKEN" | ${loginWith(uid, host)}`,
  kubernetes: (uid, host) => `# The pod mounts a projected service account token with the audience ${host} at /var/run/gantry/token.
${loginWith(uid, host)} < /var/run/gantry/token`,
  jenkins: (uid, host) => `withCredentials([string(credentialsId: 'gantry', variable: 'ID_TOKEN')]) {
  sh 'printf %s "$ID_TOKEN" | ${loginWith(uid, host)}'
}`,
  buildkite: (uid, host) => `command: |
  buildkite-agent oidc request-token --audience ${host} |
    ${loginWith(uid, host)}`,
  awsRole: (uid) => `curl -sSf ${location.origin}/sts/exchange -d identity=${uid} \\
  -H "Authorization: Bearer $(python3 aws-token.py ${location.origin} ${uid})" |
  jq -r .token | docker login ${location.host} --username _token --password-stdin`,
  other: (uid, host) => `printf %s "$ID_TOKEN" | ${loginWith(uid, host)}`,
  keys: (uid, host) => `printf %s "$ID_TOKEN" | ${loginWith(uid, host)}`,
  pullToken: (uid, host) => `docker login ${host} --username ${uid}`,
};

/** The claim of Buildkite that replaces the subject, if the match has the pipeline's ID. */
const withSubjectClaim = (identity: Identity, lines: string): string => {
  if (kindOf(identity) !== "buildkite" || identity.claimMatch?.subjectPattern) return lines;
  const claim = identity.claimMatch?.claims.organization_id === undefined ? "" : " --claim organization_id";
  return lines.replace(" |\n", ` --subject-claim pipeline_id${claim} |\n`);
};

/** A pull token's password was shown once, so another token replaces it. */
const replacement = ({ uid, name }: Identity): string =>
  `gantry iam pull-tokens create --server ${location.origin} --group ${uid.slice(0, uid.lastIndexOf("/"))} --name ${shellWord(name)}`;

export const Setup = ({ identity }: { readonly identity: Identity }): ReactNode => {
  const kind = kindOf(identity);
  const isPullToken = kind === "pullToken";
  return (
    <>
      <h3>{texts.setUp}</h3>
      <p className="quiet details-text">{isPullToken ? texts.pullTokenText : texts.setUpText}</p>
      <Command text={withSubjectClaim(identity, linesOf[kind](identity.uid, location.host))} what={texts.setUp} />
      {isPullToken ? (
        <>
          <p className="quiet details-text">{texts.replaceText}</p>
          <Command text={replacement(identity)} what={texts.replaceText} />
        </>
      ) : null}
      <p className="details-note">
        <a href={`/docs/guides/${guides[kind]}`}>{texts.guideTo(texts.systems[kind])}</a>
      </p>
    </>
  );
};
