// Adds or changes an identity provider. The client secret is sent, and shown nowhere.

import { type ReactNode, useState } from "react";
import type { IdentityProvider, IdentityProviderInput, IdentityProviderOIDCCorrelationRule } from "../../../client/package.ts";
import { Picker } from "../access/picker.tsx";
import { isUid } from "../address.ts";
import { FormDialog } from "../form-dialog.tsx";
import { announce, nameOr } from "../parts.tsx";
import { parentOf } from "../places.tsx";
import type { Place } from "../questions.ts";
import { roleChoices, useRoles } from "../roles.ts";
import { SelectField } from "../select-field.tsx";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/providers.ts";
import { Conflict, type Shown, useVersion, type Version } from "../conflict.tsx";
import { createProvider, createProviderShown, providerAt, updateProvider, updateProviderShown } from "./requests.ts";

/** The form as it was typed. */
interface Draft {
  readonly name: string;
  readonly description: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
  readonly groupsClaim: string;
  readonly correlationRule: IdentityProviderOIDCCorrelationRule;
  readonly defaultRole: string;
  readonly pkceEnabled: boolean;
}

const newDraft: Draft = {
  name: "",
  description: "",
  issuer: "",
  clientId: "",
  clientSecret: "",
  scopes: "email profile",
  groupsClaim: "",
  correlationRule: "CORRELATION_RULE_UNSPECIFIED",
  defaultRole: "",
  pkceEnabled: true,
};

const draftOf = ({ name, description, defaultRole, oidc }: IdentityProvider): Draft => ({
  ...newDraft,
  name,
  description,
  defaultRole,
  issuer: oidc?.issuer ?? "",
  clientId: oidc?.clientId ?? "",
  scopes: (oidc?.additionalScopes ?? []).join(" "),
  groupsClaim: oidc?.groupsClaim ?? "",
  correlationRule: oidc?.correlationRule ?? newDraft.correlationRule,
  pkceEnabled: oidc?.pkceEnabled ?? false,
});

/** A new provider leaves out what is empty; a change replaces it. */
const inputOf = (draft: Draft, isNew: boolean): IdentityProviderInput => {
  const { name, description, issuer, clientId, clientSecret, scopes, groupsClaim, correlationRule, defaultRole, pkceEnabled } = draft;
  const additionalScopes = scopes.split(/[\s,]+/).filter((each) => each !== "");
  return {
    name: name.trim(),
    ...(isNew && description.trim() === "" ? {} : { description: description.trim() }),
    defaultRole,
    oidc: {
      issuer: issuer.trim(),
      clientId: clientId.trim(),
      ...(clientSecret === "" ? {} : { clientSecret }),
      ...(isNew && additionalScopes.length === 0 ? {} : { additionalScopes }),
      ...(isNew && groupsClaim.trim() === "" ? {} : { groupsClaim: groupsClaim.trim() }),
      ...(correlationRule === newDraft.correlationRule ? {} : { correlationRule }),
      ...(isNew && !pkceEnabled ? {} : { pkceEnabled }),
    },
  };
};

const shownOf = ({ name, description, issuer, clientId, scopes, groupsClaim, defaultRole, pkceEnabled }: Draft): readonly Shown[] => [
  [texts.name, name],
  [texts.description, description],
  [texts.issuer, issuer],
  [texts.clientId, clientId],
  [texts.usePkce, pkceEnabled ? texts.yes : texts.no],
  [texts.additionalScopes, scopes],
  [texts.groupsClaim, groupsClaim],
  [texts.defaultRole, defaultRole],
];

const rules = [
  ["CORRELATION_RULE_UNSPECIFIED", texts.correlationRules.CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID],
  ["CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID", texts.correlationRules.CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID],
] as const satisfies readonly (readonly [IdentityProviderOIDCCorrelationRule, string])[];

interface ProviderFormProps {
  /** The group of a new provider, with the groups above it. */
  readonly path: readonly Place[];
  /** The provider to change; undefined: add one. */
  readonly version?: Version<IdentityProvider> | undefined;
  readonly onClose: () => void;
  /** Gets the uid of the provider. */
  readonly onDone: (uid: string) => void;
}

export const ProviderForm = ({ path, version, onClose, onDone }: ProviderFormProps): ReactNode => {
  const [draft, setDraft] = useState<Draft>(version ? draftOf(version.resource) : newDraft);
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send, clear } = useSend([
    "name",
    "description",
    "issuer",
    "clientId",
    "clientSecret",
    "additionalScopes",
    "groupsClaim",
    "correlationRule",
    "defaultRole",
  ]);
  const { base, choices } = useVersion(version, (stored) => setDraft({ ...draftOf(stored), clientSecret: draft.clientSecret }), clear);
  const here = path.at(-1) ?? { uid: "", name: "" };
  const place = base && parentOf(base.resource.uid) !== here.uid ? { uid: parentOf(base.resource.uid), name: "" } : here;
  const roles = useRoles([...path, place]);
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const input = inputOf(draft, !base);
  const missing = {
    name: input.name === "",
    issuer: input.oidc.issuer === "",
    clientId: input.oidc.clientId === "",
    clientSecret: !base && draft.clientSecret === "" && !draft.pkceEnabled,
    defaultRole: !isUid(draft.defaultRole),
  };
  const secretHint = base ? texts.clientSecretKept : texts.clientSecretHint;
  const problemOf = (field: keyof typeof missing, text: string): string | undefined => (isChecked && missing[field] ? text : problems.fields[field]);
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (Object.values(missing).includes(true) || isSending) return;
    const answer = await send(base ? updateProvider({ uid: base.resource.uid, ...input }, base.etag) : createProvider(place.uid, input));
    if (!answer) return;
    announce(base ? texts.providerChanged : texts.providerAdded);
    onDone(answer.data.uid);
  };
  return (
    <FormDialog
      title={base ? texts.changeProvider : texts.addProvider}
      question={base ? updateProviderShown({ uid: base.resource.uid, ...input }) : createProviderShown(place.uid, input)}
      message={problems.message}
      conflict={
        base && problems.isConflict ? (
          <Conflict
            read={providerAt(base.resource.uid)}
            shownOf={(stored) => shownOf(draftOf(stored))}
            mine={shownOf({ ...draft, name: draft.name.trim(), description: draft.description.trim() })}
            {...choices}
          />
        ) : null
      }
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">
        {base ? (
          texts.changeProviderText
        ) : (
          <>
            {texts.appliesTo} <strong>{nameOr(place.name, place.uid)}</strong> {texts.andBelow} {texts.callbackLater}
          </>
        )}
      </p>
      <TextField
        label={texts.name}
        about={texts.nameHint}
        problem={problemOf("name", texts.nameHint)}
        value={draft.name}
        onChange={(name) => set({ name })}
        required
        isFirst
      />
      <TextField
        label={texts.descriptionOptional}
        problem={problems.fields.description}
        value={draft.description}
        onChange={(description) => set({ description })}
      />
      <TextField
        label={texts.issuer}
        about={texts.issuerHint}
        problem={problemOf("issuer", texts.issuerHint)}
        value={draft.issuer}
        onChange={(issuer) => set({ issuer })}
        required
      />
      <TextField
        label={texts.clientId}
        about={texts.clientIdHint}
        problem={problemOf("clientId", texts.clientIdHint)}
        value={draft.clientId}
        onChange={(clientId) => set({ clientId })}
        required
      />
      <TextField
        label={texts.clientSecret}
        type="password"
        about={secretHint}
        problem={problemOf("clientSecret", secretHint)}
        value={draft.clientSecret}
        onChange={(clientSecret) => set({ clientSecret })}
      />
      <label className="check">
        <input type="checkbox" checked={draft.pkceEnabled} onChange={({ target }) => set({ pkceEnabled: target.checked })} />
        {texts.usePkce}
      </label>
      <TextField
        label={texts.additionalScopes}
        about={texts.additionalScopesHint}
        problem={problems.fields.additionalScopes}
        value={draft.scopes}
        onChange={(scopes) => set({ scopes })}
      />
      <TextField
        label={texts.groupsClaimOptional}
        about={texts.groupsClaimHint}
        problem={problems.fields.groupsClaim}
        value={draft.groupsClaim}
        onChange={(groupsClaim) => set({ groupsClaim })}
      />
      {(base?.resource.oidc?.correlationRule ?? newDraft.correlationRule) === newDraft.correlationRule ? (
        <SelectField
          label={texts.correlationRule}
          about={texts.correlationRuleHint}
          problem={problems.fields.correlationRule}
          value={draft.correlationRule}
          choices={rules}
          onChange={(correlationRule) => set({ correlationRule })}
        />
      ) : null}
      <Picker
        label={texts.defaultRole}
        hint={texts.roleHint}
        problem={problemOf("defaultRole", texts.roleUnknown)}
        value={draft.defaultRole}
        choices={roleChoices(roles)}
        onChange={(defaultRole) => set({ defaultRole })}
        required
      />
    </FormDialog>
  );
};
