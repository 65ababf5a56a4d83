// Changes an identity: its name, its description, and the claims that its tokens must have.

import { type ReactNode, useState } from "react";
import type { Identity } from "../../../client/package.ts";
import { FormDialog } from "../form-dialog.tsx";
import { announce } from "../parts.tsx";
import { Conflict, type Shown, useVersion, type Version } from "../conflict.tsx";
import { Edit } from "../edit.tsx";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/identities.ts";
import { claimMatchOf, claimsOf, type MatchDraft, matchDraftOf, MatchFields } from "./match-fields.tsx";
import { identityAt, updateIdentity } from "./requests.ts";

interface Draft {
  readonly name: string;
  readonly description: string;
  /** Undefined: the identity is assumed in another way. */
  readonly match: MatchDraft | undefined;
}

const draftOf = (identity: Identity): Draft => ({
  name: identity.name,
  description: identity.description,
  match: identity.claimMatch ? matchDraftOf(identity) : undefined,
});

const matchText = (match: MatchDraft): string =>
  claimsOf(match)
    .map(({ name, value, isPattern }) => `${isPattern ? texts.matches(name) : name}: ${value}`)
    .sort()
    .join("; ");

const shownOf = ({ name, description, match }: Draft): readonly Shown[] => [
  [texts.name, name],
  [texts.description, description],
  ...(match ? [[texts.match, matchText(match)] as const] : []),
];

const matchFields = ["issuer", "issuerPattern", "subject", "subjectPattern", "audience", "audiencePattern"] as const;

interface FormProps {
  readonly version: Version<Identity>;
  readonly onClose: () => void;
}

const Form = ({ version, onClose }: FormProps): ReactNode => {
  const [draft, setDraft] = useState(draftOf(version.resource));
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send, clear } = useSend(["name", "description", ...matchFields]);
  const { base, choices } = useVersion(version, (stored) => setDraft(draftOf(stored)), clear);
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const trimmed = { ...draft, name: draft.name.trim(), description: draft.description.trim() };
  const { name, description, match } = trimmed;
  // A changed match requires all permissions of the identity, so an unchanged one is not sent.
  const changed = match && matchText(match) !== matchText(matchDraftOf(base.resource)) ? match : undefined;
  const question = updateIdentity(
    { uid: base.resource.uid, name, description, ...(changed ? { claimMatch: claimMatchOf(changed) } : {}) },
    ["name", "description", ...(changed ? (["claimMatch"] as const) : [])],
    base.etag,
  );
  const required = (value: string): string | undefined => (isChecked && value.trim() === "" ? texts.required : undefined);
  const { fields } = problems;
  const submit = async (): Promise<void> => {
    setChecked(true);
    const isIncomplete = name === "" || (match && [match.iss.value, match.sub.value].some((value) => value.trim() === ""));
    if (isIncomplete || isSending || !(await send(question))) return;
    onClose();
    announce(texts.identityChanged);
  };
  return (
    <FormDialog
      title={texts.editIdentity}
      question={question}
      message={problems.message}
      conflict={
        problems.isConflict ? (
          <Conflict read={identityAt(base.resource.uid)} shownOf={(identity) => shownOf(draftOf(identity))} mine={shownOf(trimmed)} {...choices} />
        ) : null
      }
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label={texts.name}
        about={texts.nameHint}
        problem={required(name) ?? fields.name}
        value={draft.name}
        onChange={(value) => set({ name: value })}
        required
        isFirst
      />
      <TextField label={texts.descriptionOptional} problem={fields.description} value={draft.description} onChange={(value) => set({ description: value })} />
      {draft.match ? (
        <MatchFields
          draft={draft.match}
          problems={{
            iss: required(draft.match.iss.value) ?? fields.issuer ?? fields.issuerPattern,
            sub: required(draft.match.sub.value) ?? fields.subject ?? fields.subjectPattern,
            aud: fields.audience ?? fields.audiencePattern,
          }}
          onChange={(value) => set({ match: value })}
        />
      ) : null}
    </FormDialog>
  );
};

export const EditIdentity = ({ uid, onClose }: { readonly uid: string; readonly onClose: () => void }): ReactNode => (
  <Edit key={uid} title={texts.editIdentity} read={identityAt(uid)} form={(version) => <Form version={version} onClose={onClose} />} onClose={onClose} />
);
