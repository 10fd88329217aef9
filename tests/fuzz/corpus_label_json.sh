# corpus_label_json.sh RUE FOLDER
printf '{"label": 3, "text": "a \\" \\u00e4", "more": [1, -2.5e3, {"label": null}], "flag": true}' >"$2/label.json"
