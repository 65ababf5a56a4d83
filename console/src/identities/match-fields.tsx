// The claims that a token must have, as fields.

import { type ReactNode, useId } from "react";
import type { Identity, IdentityClaimMatchInput } from "../../../client/package.ts";
import { Icon } from "../parts.tsx";
import { type Claim, matchOf } from "../robots/describe.ts";
import { texts } from "../texts/identities.ts";

/** The three claims that a match names by fields of its own, and further ones. */
export interface MatchDraft {
  readonly iss: Claim;
  readonly sub: Claim;
  /** "": this server. */
  readonly aud: Claim;
  readonly others: readonly Claim[];
}

const ownNames = ["iss", "sub", "aud"] as const;

const isOwnName = (name: string): boolean => ownNames.some((own) => own === name);

export const matchDraftOf = (identity: Pick<Identity, "claimMatch" | "staticKeys" | "awsIdentity">): MatchDraft => {
  const claims = matchOf(identity);
  const own = (name: string): Claim => claims.find((claim) => claim.name === name) ?? { name, value: "", isPattern: false };
  return { iss: own("iss"), sub: own("sub"), aud: own("aud"), others: claims.filter(({ name }) => !isOwnName(name)) };
};

const trimmed = ({ name, value, isPattern }: Claim): Claim => ({ name: name.trim(), value: value.trim(), isPattern });

/** The claims without surrounding space, and without empty rows. */
export const claimsOf = ({ iss, sub, aud, others }: MatchDraft): readonly Claim[] =>
  [iss, sub, aud, ...others].map(trimmed).filter(({ name, value }) => value !== "" || !(name === "" || name === "aud"));

const named = (claims: readonly Claim[]): Record<string, string> => Object.fromEntries(claims.map(({ name, value }) => [name, value]));

export const claimMatchOf = (draft: MatchDraft): IdentityClaimMatchInput => {
  const [iss, sub, aud] = [trimmed(draft.iss), trimmed(draft.sub), trimmed(draft.aud)];
  const others = draft.others.map(trimmed).filter(({ name }) => name !== "");
  return {
    ...(iss.isPattern ? { issuerPattern: iss.value } : { issuer: iss.value }),
    ...(sub.isPattern ? { subjectPattern: sub.value } : { subject: sub.value }),
    ...(aud.value === "" ? {} : aud.isPattern ? { audiencePattern: aud.value } : { audience: aud.value }),
    claims: named(others.filter(({ isPattern }) => !isPattern)),
    claimPatterns: named(others.filter(({ isPattern }) => isPattern)),
  };
};

interface RowProps {
  readonly claim: Claim;
  readonly number: number;
  readonly problem: string | undefined;
  readonly onChange: (claim: Claim) => void;
  /** Undefined: a claim that every match has, whose name cannot be changed. */
  readonly onRemove: (() => void) | undefined;
}

const Row = ({ claim, number, problem, onChange, onRemove }: RowProps): ReactNode => {
  const id = useId();
  const title = claim.name.trim() === "" ? texts.claimNumber(number) : claim.name.trim();
  return (
    <div className="field claim-row">
      {onRemove ? (
        <input
          type="text"
          aria-label={texts.claimName(number)}
          autoComplete="off"
          spellCheck={false}
          value={claim.name}
          onChange={({ target }) => onChange({ ...claim, name: target.value })}
        />
      ) : (
        <code>{claim.name}</code>
      )}
      <input
        type="text"
        aria-label={texts.claimValue(title)}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : `${id}-problem`}
        autoComplete="off"
        spellCheck={false}
        maxLength={1024}
        value={claim.value}
        onChange={({ target }) => onChange({ ...claim, value: target.value })}
      />
      <label className="check">
        <input
          type="checkbox"
          aria-label={texts.claimIsPattern(title)}
          checked={claim.isPattern}
          onChange={({ target }) => onChange({ ...claim, isPattern: target.checked })}
        />
        {texts.pattern}
      </label>
      {onRemove ? (
        <button type="button" className="copy" aria-label={texts.removeClaim(title)} onClick={onRemove}>
          <Icon name="close" />
        </button>
      ) : null}
      {problem === undefined ? null : (
        <p id={`${id}-problem`} className="problem">
          {problem}
        </p>
      )}
    </div>
  );
};

interface MatchFieldsProps {
  readonly draft: MatchDraft;
  /** By the name of the claim. */
  readonly problems: Readonly<Record<string, string | undefined>>;
  readonly onChange: (draft: MatchDraft) => void;
}

export const MatchFields = ({ draft, problems, onChange }: MatchFieldsProps): ReactNode => {
  const { others } = draft;
  return (
    <fieldset className="field match-fields">
      <legend>{texts.match}</legend>
      <p className="about">{texts.matchHint}</p>
      {ownNames.map((name, index) => (
        <Row
          key={name}
          claim={draft[name]}
          number={index + 1}
          problem={problems[name]}
          onChange={(claim) => onChange({ ...draft, [name]: claim })}
          onRemove={undefined}
        />
      ))}
      {others.map((claim, index) => (
        <Row
          // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other name while it is typed
          key={index}
          claim={claim}
          number={index + 1 + ownNames.length}
          problem={problems[claim.name.trim()]}
          onChange={(changed) => onChange({ ...draft, others: others.with(index, changed) })}
          onRemove={() => onChange({ ...draft, others: others.toSpliced(index, 1) })}
        />
      ))}
      <button type="button" className="button add-claim" onClick={() => onChange({ ...draft, others: [...others, { name: "", value: "", isPattern: false }] })}>
        <Icon name="plus" />
        {texts.addClaim}
      </button>
    </fieldset>
  );
};
