// The claims that a token must have.

import type { ReactNode } from "react";
import type { Preset } from "../../../base/ci-presets.ts";
import type { Identity } from "../../../client/package.ts";
import { texts } from "../texts/robots.ts";
import { type Claim, matchOf } from "./describe.ts";

/** A match that the server has not completed yet. */
const ofPreset = (match: Preset["match"]): readonly Claim[] =>
  "awsIdentity" in match ? matchOf(match) : matchOf({ claimMatch: { claimPatterns: {}, ...match.claimMatch, claims: match.claimMatch.claims ?? {} } });

export const Claims = ({ match }: { readonly match: Identity | Preset["match"] }): ReactNode => (
  <dl className="claims">
    {("uid" in match ? matchOf(match) : ofPreset(match)).map(({ name, value, isPattern }) => (
      <div key={name}>
        <dt>
          <code>{isPattern ? texts.matches(name) : name}</code>
        </dt>
        <dd className="long">
          <bdi>{value}</bdi>
        </dd>
      </div>
    ))}
  </dl>
);
