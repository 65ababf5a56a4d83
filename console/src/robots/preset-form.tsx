// Adds an identity for the jobs of a CI system, and its role binding.

import { type FormEvent, type ReactNode, useState } from "react";
import type { Identity } from "../../../client/package.ts";
import { ciSystems } from "../../../base/ci-presets.ts";
import { Picker } from "../access/picker.tsx";
import { createBinding } from "../access/requests.ts";
import { isUid } from "../address.ts";
import { Dialog } from "../dialog.tsx";
import { announce, Icon, nameOr } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { roleChoices, useRoles } from "../roles.ts";
import { SameRequest } from "../same-request.tsx";
import { SelectField } from "../select-field.tsx";
import { usePreview, useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/robots.ts";
import { Claims } from "./claims.tsx";
import { commandOf, type Draft, fieldsOf, firstDraft, jobKinds, nameOf, outcomeOf } from "./preset.ts";
import { createRobot } from "./requests.ts";

interface PresetFormProps {
  readonly path: readonly Place[];
  readonly onClose: () => void;
  readonly onAdded: (uid: string) => void;
}

export const PresetForm = ({ path, onClose, onAdded }: PresetFormProps): ReactNode => {
  const place = path.at(-1) ?? { uid: "", name: "" };
  const [draft, setDraft] = useState<Draft>(firstDraft);
  const [roleUid, setRole] = useState("");
  const [isChecked, setChecked] = useState(false);
  const [made, setMade] = useState<Identity>();
  const roles = useRoles(path);
  const { problems, isSending, send } = useSend(["roleUid"]);
  const { preset, problems: wrong } = outcomeOf(draft);
  const shown = isChecked ? wrong : {};
  const identity = { name: preset ? nameOf(preset) : "", ...preset?.match };
  const create = createRobot(place.uid, identity, commandOf(draft, place.uid, roleUid));
  const sent = usePreview(create);
  const bind = createBinding(place.uid, { identityUid: made?.uid ?? "", roleUid });
  const bindSent = usePreview(bind);
  const update = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setChecked(true);
    if (!preset || !isUid(roleUid) || isSending) return;
    // After a refused binding, only the binding is sent again.
    const added = made ?? (await send(create))?.data;
    if (!added) return;
    setMade(added);
    if (!(await send(createBinding(place.uid, { identityUid: added.uid, roleUid })))) return;
    announce(texts.robotAdded);
    onAdded(added.uid);
  };
  return (
    <Dialog label={texts.addRobot} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{texts.addRobot}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <form className="fields" onSubmit={(event) => void submit(event)} noValidate>
        {problems.message === "" && !(made && !isSending) ? null : (
          <p className="notice" role="alert">
            {made ? `${texts.bindAgain} ` : ""}
            {problems.message}
          </p>
        )}
        <fieldset className="plain" disabled={made !== undefined}>
          <SelectField
            label={texts.system}
            value={draft.system}
            choices={ciSystems.map((system) => [system, texts.systems[system]] as const)}
            onChange={(system) => update({ system })}
            isFirst
          />
          {draft.system === "github" ? (
            <SelectField
              label={texts.jobs}
              value={draft.jobs}
              choices={jobKinds.map((each) => [each, texts.jobKinds[each]] as const)}
              onChange={(jobs) => update({ jobs })}
            />
          ) : null}
          {draft.system === "gitlab" ? (
            <SelectField
              label={texts.refType}
              value={draft.refType}
              choices={[["branch", texts.refTypes.branch] as const, ["tag", texts.refTypes.tag] as const]}
              onChange={(refType) => update({ refType })}
            />
          ) : null}
          {fieldsOf(draft).map(({ name, label, hint, isOptional = false }) => (
            <TextField
              key={name}
              label={label}
              about={hint}
              problem={shown[name]}
              value={draft.values[name] ?? ""}
              onChange={(value) => update({ values: { ...draft.values, [name]: value } })}
              required={!isOptional}
            />
          ))}
        </fieldset>
        <Picker
          label={texts.role}
          hint={texts.roleHint}
          problem={isChecked && !isUid(roleUid) ? texts.roleUnknown : problems.fields.roleUid}
          value={roleUid}
          choices={roleChoices(roles)}
          onChange={setRole}
          required
        />
        <p className="quiet">
          {texts.appliesTo} <strong>{nameOr(place.name, place.uid)}</strong> {texts.andBelow}
        </p>
        {preset ? (
          <section className="preview" aria-label={texts.match}>
            <p className="preview-title">{texts.match}</p>
            <Claims match={preset.match} />
          </section>
        ) : null}
        <SameRequest sent={[preset ? (made ? bindSent : sent) : undefined]} />
        <div className="form-actions">
          <button type="button" className="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="submit" className="button primary" aria-disabled={isSending}>
            {texts.addRobot}
          </button>
        </div>
      </form>
    </Dialog>
  );
};
