// Creates an invite, and shows its code once.

import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { GroupInvite, GroupInviteInput } from "../../../client/package.ts";
import { Picker } from "../access/picker.tsx";
import { roleChoices, useRoles } from "../roles.ts";
import { usePreview, useSend } from "../send.ts";
import { isUid } from "../address.ts";
import { Dialog } from "../dialog.tsx";
import { shellWord } from "../format.ts";
import { announce, Command, Icon, nameOr } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/people.ts";
import { createInvite } from "./requests.ts";

const daySeconds = 86_400;
/** 30 days are the longest that the API accepts. */
const validDays = [1, 7, 30];

const Created = ({ code }: { readonly code: string }): ReactNode => (
  <>
    <p className="notice" role="status">
      {texts.inviteCodeText}
    </p>
    <Command text={code} what={texts.inviteCode} />
    <p>{texts.inviteCommand}</p>
    <Command text={`gantry login --server ${location.origin} --invite-code ${shellWord(code)}`} what={texts.inviteCommand} />
  </>
);

interface InviteFormProps {
  readonly path: readonly Place[];
  readonly onClose: () => void;
}

export const InviteForm = ({ path, onClose }: InviteFormProps): ReactNode => {
  const place = path.at(-1) ?? { uid: "", name: "" };
  const [roleUid, setRole] = useState("");
  const [isRoleUnknown, setRoleUnknown] = useState(false);
  const [email, setEmail] = useState("");
  const [days, setDays] = useState(7);
  const [singleUse, setSingleUse] = useState(true);
  const [made, setMade] = useState<GroupInvite>();
  const roles = useRoles(path);
  const ids = useId();
  const { problems, isSending, send } = useSend(["roleUid", "email", "ttl"]);
  const invite: GroupInviteInput = {
    roleUid,
    ttl: `${days * daySeconds}s`,
    ...(email.trim() === "" ? {} : { email: email.trim() }),
    ...(singleUse ? { singleUse } : {}),
  };
  const question = createInvite(place.uid, invite);
  const sent = usePreview(question);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setRoleUnknown(!isUid(roleUid));
    if (!isUid(roleUid) || isSending) return;
    const answer = await send(question);
    if (!answer) return;
    setMade(answer.data);
    announce(texts.inviteCreated);
  };
  const form = (
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
        label={texts.role}
        hint={texts.roleHint}
        problem={isRoleUnknown ? texts.roleUnknown : problems.fields.roleUid}
        value={roleUid}
        choices={roleChoices(roles)}
        onChange={setRole}
        required
        isFirst
      />
      <div className="field">
        <label htmlFor={`${ids}-email`}>{texts.emailOptional}</label>
        <input
          id={`${ids}-email`}
          type="email"
          autoComplete="off"
          value={email}
          aria-describedby={`${ids}-email-about`}
          aria-invalid={problems.fields.email !== undefined}
          onChange={({ target }) => setEmail(target.value)}
        />
        <p id={`${ids}-email-about`} className={problems.fields.email === undefined ? "about" : "problem"}>
          {problems.fields.email ?? texts.emailHint}
        </p>
      </div>
      <div className="field">
        <label htmlFor={`${ids}-days`}>{texts.validFor}</label>
        <select id={`${ids}-days`} value={days} onChange={({ target }) => setDays(Number(target.value))}>
          {validDays.map((number) => (
            <option key={number} value={number}>
              {texts.days(number)}
            </option>
          ))}
        </select>
        {problems.fields.ttl === undefined ? null : <p className="problem">{problems.fields.ttl}</p>}
      </div>
      <label className="check">
        <input type="checkbox" checked={singleUse} onChange={({ target }) => setSingleUse(target.checked)} />
        {texts.singleUse}
      </label>
      <SameRequest sent={[sent]} />
      <div className="form-actions">
        <button type="button" className="button" onClick={onClose}>
          {texts.cancel}
        </button>
        <button type="submit" className="button primary" aria-disabled={isSending}>
          {texts.createInvite}
        </button>
      </div>
    </form>
  );
  return (
    <Dialog label={texts.createInvite} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{made ? texts.inviteCreated : texts.createInvite}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {made ? (
        <div className="fields">
          <Created code={made.code} />
          <div className="form-actions">
            <button type="button" className="button primary" onClick={onClose}>
              {texts.done}
            </button>
          </div>
        </div>
      ) : (
        form
      )}
    </Dialog>
  );
};
