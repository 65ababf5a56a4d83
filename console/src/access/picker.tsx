// A text field with suggestions: a combobox whose list opens while it has the focus.

import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { Marked } from "../parts.tsx";

export interface Choice {
  readonly value: string;
  readonly title: string;
  readonly detail?: string;
}

interface PickerProps {
  readonly label: string;
  readonly hint?: string;
  readonly problem?: string | undefined;
  /** The value of a choice, or the text if it is none. */
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChange: (value: string) => void;
  readonly onType?: (text: string) => void;
  readonly required?: boolean;
  /** Gets the focus when its dialog opens. */
  readonly isFirst?: boolean;
}

const shownMax = 50;

export const Picker = ({ label, hint, problem, value, choices, onChange, onType, required = false, isFirst = false }: PickerProps): ReactNode => {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState<string>();
  const [at, setAt] = useState(-1);
  const chosen = choices.find((choice) => choice.value === value);
  const isTyped = typed !== undefined && typed.trim() === value;
  const text = isTyped ? typed : (chosen?.title ?? value);
  const wanted = isTyped ? value.toLowerCase() : "";
  const shown = choices.filter(({ title, detail = "" }) => `${title} ${detail}`.toLowerCase().includes(wanted)).slice(0, shownMax);
  const isListed = isOpen && shown.length > 0;
  const choose = (choice: Choice): void => {
    setTyped(undefined);
    setOpen(false);
    setAt(-1);
    onChange(choice.value);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const active = shown[at];
    if (event.nativeEvent.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      const next = isListed ? (at + step + shown.length) % shown.length : 0;
      setOpen(true);
      setAt(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && isListed && active) choose(active);
    else if (event.key === "Escape" && isListed) {
      setOpen(false);
      // Not the dialog around it.
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="picker">
        <input
          id={id}
          type="text"
          role="combobox"
          aria-expanded={isListed}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={isListed && at >= 0 ? `${id}-${at}` : undefined}
          aria-describedby={`${id}-about`}
          aria-invalid={problem !== undefined}
          aria-required={required}
          autoComplete="off"
          spellCheck={false}
          maxLength={255}
          value={text}
          data-first={isFirst ? "" : undefined}
          onClick={() => setOpen(true)}
          onBlur={() => {
            setOpen(false);
            setAt(-1);
            const exact = isTyped ? choices.find(({ title }) => title === value) : undefined;
            if (exact) choose(exact);
          }}
          onChange={({ target }) => {
            setTyped(target.value);
            setOpen(true);
            setAt(-1);
            onChange(target.value.trim());
            onType?.(target.value.trim());
          }}
          onKeyDown={onKeyDown}
        />
        <div className="choices" role="listbox" id={`${id}-list`} aria-label={label} hidden={!isListed}>
          {isListed
            ? shown.map((choice, index) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the input takes the keys
                // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
                <div
                  key={choice.value}
                  id={`${id}-${index}`}
                  role="option"
                  aria-selected={index === at}
                  className="choice-entry"
                  onPointerDown={(event) => event.preventDefault()}
                  onClick={() => choose(choice)}
                >
                  <Marked text={choice.title} part={wanted} />
                  {choice.detail === undefined ? null : (
                    <small>
                      <bdi>{choice.detail}</bdi>
                    </small>
                  )}
                </div>
              ))
            : null}
        </div>
      </div>
      <p id={`${id}-about`} className={problem === undefined ? "about" : "problem"}>
        {problem ?? hint}
      </p>
    </div>
  );
};
