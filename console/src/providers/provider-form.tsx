// Adds an identity provider. The client secret is sent, and shown nowhere.

import { type ReactNode, useState } from "react";
import type { IdentityProviderInput } from "../../../client/package.ts";
import { Picker } from "../access/picker.tsx";
import { isUid } from "../address.ts";
import { FormDialog } from "../form-dialog.tsx";
import { announce, nameOr } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { roleChoices, useRoles } from "../roles.ts";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/providers.ts";
import { createProvider, createProviderShown } from "./requests.ts";

const empty = { name: "", issuer: "", clientId: "", clientSecret: "", scopes: "email profile", defaultRole: "", pkceEnabled: true };
type Draft = typeof empty;

const inputOf = ({ name, issuer, clientId, clientSecret, scopes, defaultRole, pkceEnabled }: Draft): IdentityProviderInput => {
  const additionalScopes = scopes.split(/[\s,]+/).filter((each) => each !== "");
  return {
    name: name.trim(),
    defaultRole,
    oidc: {
      issuer: issuer.trim(),
      clientId: clientId.trim(),
      ...(clientSecret === "" ? {} : { clientSecret }),
      ...(additionalScopes.length === 0 ? {} : { additionalScopes }),
      ...(pkceEnabled ? { pkceEnabled } : {}),
    },
  };
};

interface ProviderFormProps {
  readonly path: readonly Place[];
  readonly onClose: () => void;
  readonly onAdded: (uid: string) => void;
}

export const ProviderForm = ({ path, onClose, onAdded }: ProviderFormProps): ReactNode => {
  const place = path.at(-1) ?? { uid: "", name: "" };
  const [draft, setDraft] = useState(empty);
  const [isChecked, setChecked] = useState(false);
  const roles = useRoles(path);
  const { problems, isSending, send } = useSend(["name", "issuer", "clientId", "clientSecret", "additionalScopes", "defaultRole"]);
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const input = inputOf(draft);
  const missing = {
    name: input.name === "",
    issuer: input.oidc.issuer === "",
    clientId: input.oidc.clientId === "",
    clientSecret: draft.clientSecret === "" && !draft.pkceEnabled,
    defaultRole: !isUid(draft.defaultRole),
  };
  const problemOf = (field: keyof typeof missing, text: string): string | undefined => (isChecked && missing[field] ? text : problems.fields[field]);
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (Object.values(missing).includes(true) || isSending) return;
    const answer = await send(createProvider(place.uid, input));
    if (!answer) return;
    announce(texts.providerAdded);
    onAdded(answer.data.uid);
  };
  return (
    <FormDialog
      title={texts.addProvider}
      question={createProviderShown(place.uid, input)}
      message={problems.message}
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className="quiet">
        {texts.appliesTo} <strong>{nameOr(place.name, place.uid)}</strong> {texts.andBelow} {texts.callbackLater}
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
        about={texts.clientSecretHint}
        problem={problemOf("clientSecret", texts.clientSecretHint)}
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
