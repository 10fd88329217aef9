# corpus_tensor.sh RUE FOLDER: two records of 3 x 2 x 2 levels, two classes, what the records were made with; the target
# mends the checksums.
python3 - "$2/levels.tensor" <<'END'
import struct, sys
count, stride = 2, 4096
labels = 4096 + count * stride
crcs = labels + 4 * count
classes = crcs + 4 * count
names = b"cat\0dog\0resize 256 layout nchw\0"
header = struct.pack("<8sIIQIIIIQQQQQQII", b"RUETENSR", 2, 1, count, 3, 2, 2, 2, stride, 4096, labels, crcs, classes,
                     classes + len(names), 0, 0)
records = b"".join(bytes(range(12)).ljust(stride, b"\0") for _ in range(count))
with open(sys.argv[1], "wb") as file:
    file.write(header.ljust(4096, b"\0") + records + struct.pack("<4I", 0, 1, 0, 0) + names)
END
