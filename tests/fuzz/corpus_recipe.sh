# corpus_recipe.sh RUE FOLDER: recipes as people write them, as JSON and as text.
echo '{"area": [0.08, 1], "ratio": [0.75, 1.3333], "flip": 0.5}' >"$2/crop"
echo '{"rotation": {"probability": 0.5, "range": [-10, 10]}, "noise": {"probability": 1, "range": [0, 0.1]}}' >"$2/some"
echo '{"brightness": {"probability": 1e-9, "range": [0, 10]}, "contrast": {"probability": 1, "range": [1, 1]},
       "scale": {"probability": 0, "range": [0.1, 10]}}' >"$2/edges"
echo '{"jitter": {"probability": 0.8, "brightness": 0.4, "contrast": 0.4, "saturation": 0.2, "hue": 0.1}, "grayscale": 0.2,
       "gaussian_blur": {"probability": 0.5, "kernel": 9, "range": [0.1, 2]}}' >"$2/jitter"
echo '{"randaugment": {"operations": 2, "magnitude": 9}, "trivialaugment": 1, "timm_randaugment": {"magnitude": 9, "deviation": 0.5},
       "three_augment": 1, "blur": {"probability": 1, "range": [0, 100]}, "sharpness": {"probability": 1, "range": [0, 10]}}' >"$2/policies"
echo '["mild", {"views": 3, "image_size": "40x7", "flip": 0.5}, "2*simclr@9"]' >"$2/views"
printf 'dino;views 3 image_size 40x7 area 0.08 1 jitter 0.8 0.4 0.4 0.2 0.1' >"$2/text"
