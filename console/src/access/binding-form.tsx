// Adds a role binding.

import { type FormEvent, type ReactNode, useState } from "react";
import type { RoleBindingInput } from "../../../client/package.ts";
import { isUid } from "../address.ts";
import { Dialog } from "../dialog.tsx";
import { endOfDay } from "../format.ts";
import { announce, Icon, nameOr } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/access.ts";
import { useIdentities } from "./identities.ts";
import { Picker } from "./picker.tsx";
import { createBinding } from "./requests.ts";
import { roleChoices, useRoles } from "../roles.ts";
import { usePreview, useSend } from "../send.ts";

interface BindingFormProps {
  readonly path: readonly Place[];
  readonly identity: string;
  readonly onClose: () => void;
}

export const BindingForm = ({ path, identity: first, onClose }: BindingFormProps): ReactNode => {
  const place = path.at(-1) ?? { uid: "", name: "" };
  const [identityUid, setIdentity] = useState(first);
  const [roleUid, setRole] = useState("");
  const [date, setDate] = useState("");
  const [unknown, setUnknown] = useState<{ readonly identity: boolean; readonly role: boolean }>();
  const { choices, onType } = useIdentities(path);
  const roles = useRoles(path);
  const { problems, isSending, send } = useSend(["identityUid", "roleUid", "expireTime"]);
  const binding: RoleBindingInput = { identityUid, roleUid, ...(date === "" ? {} : { expireTime: endOfDay(date) }) };
  const question = createBinding(place.uid, binding);
  const sent = usePreview(question);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const isKnown = { identity: isUid(identityUid), role: isUid(roleUid) };
    setUnknown(isKnown.identity && isKnown.role ? undefined : isKnown);
    if (!isKnown.identity || !isKnown.role || isSending || !(await send(question))) return;
    onClose();
    announce(texts.bindingAdded);
  };
  return (
    <Dialog label={texts.addBinding} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{texts.addBinding}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <form className="fields" onSubmit={(event) => void submit(event)} noValidate>
        <p className="quiet">
          {texts.appliesTo} <strong>{nameOr(place.name, place.uid)}</strong> {texts.andBelow}
        </p>
        {problems.message === "" ? null : (
          <p className="notice" role="alert">
            {problems.message}
          </p>
        )}
        <Picker
          label={texts.identity}
          hint={texts.identityHint}
          problem={unknown?.identity === false ? texts.identityUnknown : problems.fields.identityUid}
          value={identityUid}
          choices={choices}
          onChange={setIdentity}
          onType={onType}
          required
          isFirst
        />
        <Picker
          label={texts.role}
          hint={texts.roleHint}
          problem={unknown?.role === false ? texts.roleUnknown : problems.fields.roleUid}
          value={roleUid}
          choices={roleChoices(roles)}
          onChange={setRole}
          required
        />
        <div className="field">
          <label htmlFor="expires">{texts.expiresOptional}</label>
          <input
            id="expires"
            type="date"
            value={date}
            aria-describedby="expires-about"
            aria-invalid={problems.fields.expireTime !== undefined}
            onChange={({ target }) => setDate(target.value)}
          />
          <p id="expires-about" className={problems.fields.expireTime === undefined ? "about" : "problem"}>
            {problems.fields.expireTime ?? texts.expiresHint}
          </p>
        </div>
        <SameRequest sent={[sent]} />
        <div className="form-actions">
          <button type="button" className="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="submit" className="button primary" aria-disabled={isSending}>
            {texts.addBinding}
          </button>
        </div>
      </form>
    </Dialog>
  );
};
